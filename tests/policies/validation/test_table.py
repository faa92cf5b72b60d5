from bestbefore.policies.validation.table import POLICIES


def test_policies_are_listed_under_their_own_names_in_the_order_of_the_documentation() -> None:
    assert list(POLICIES) == [
        "ttl", "indhist", "agghist", "indagg", "indttl",
        "oracle", "always", "never",
        "fixed", "squid", "miniflux", "nutch", "stormcrawler", "aimd",
    ]
    assert [policy.name for policy in POLICIES.values()] == list(POLICIES)
