from bestbefore.addon.config.domain_sections import LIVE_POLICIES
from bestbefore.replay.candidates import CANDIDATES, STRICT, bounded_candidates
from bestbefore.replay.sweeps.grid import points_of


def test_the_candidates_are_different_policies_that_can_run_live() -> None:
    policies = [point.policy for spec in CANDIDATES for point in points_of(spec)]
    assert len(set(policies)) == len(CANDIDATES)
    assert {"renewal", "indttl", "fixed"} < {policy.name for policy in policies} <= set(LIVE_POLICIES)


def test_for_low_stale_rates_lifetimes_are_bounded_too() -> None:
    policies = [point.policy for spec in bounded_candidates(0.01) for point in points_of(spec)]
    assert {policy.name for policy in policies} == {"indhist", "agghist"}
    assert len(set(policies)) == len(policies)
    assert bounded_candidates(STRICT) == ()
