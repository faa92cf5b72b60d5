from dataclasses import fields

from bestbefore.policies.validation.table import POLICIES


def test_policies_are_listed_under_their_own_names() -> None:
    assert [policy.name for policy in POLICIES.values()] == list(POLICIES)


def test_each_is_made_of_numbers_alone_and_says_what_it_is() -> None:
    for policy in POLICIES.values():
        assert all(isinstance(getattr(policy(), field.name), float) for field in fields(policy))
        assert policy.__doc__
