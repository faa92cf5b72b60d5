"""Two representations of what is known, held to each other."""

import math

from bestbefore.policies.validation.machinery.features import Features

DAY = 86400.0


def assert_same_features(one: Features, other: Features, window_s: float) -> None:
    """All that a policy may ask about the past."""
    assert (one.t, one.known_since_s(), one.observed_since_s()) == (
        other.t, other.known_since_s(), other.observed_since_s()
    )
    last_s = one.last_update_s()
    assert last_s == other.last_update_s() or (math.isnan(last_s) and math.isnan(other.last_update_s()))
    assert one.counted_updates() == other.counted_updates()
    within = one.updates_within(window_s)
    assert within == other.updates_within(window_s)
    if within:
        assert one.oldest_within_s(window_s, within) == other.oldest_within_s(window_s, within)
    assert one.set_counts() == other.set_counts()
    assert list(one.by_bin.counts) == list(other.by_bin.counts)
    if one.t - window_s > one.observed_since_s():
        one.set_counts_before(window_s, within)
        other.set_counts_before(window_s, within)
        assert list(one.by_bin.counts) == list(other.by_bin.counts)
    gaps = one.set_gaps()
    assert gaps == other.set_gaps()
    assert list(one.by_bin.gaps_s[:gaps]) == list(other.by_bin.gaps_s[:gaps])
    n = one.set_group_counts()
    assert n == other.set_group_counts()
    if n:
        assert list(one.by_bin.counts) == list(other.by_bin.counts)
        assert one.group_since_s() == other.group_since_s()
        assert one.member_hours() == other.member_hours()
    gaps = one.set_group_gaps()
    assert gaps == other.set_group_gaps()
    assert list(one.by_bin.gaps_s[:gaps]) == list(other.by_bin.gaps_s[:gaps])
    assert one.group_weekend_updates() == other.group_weekend_updates()
    assert one.group_rate_per_s() == other.group_rate_per_s()
    assert one.update_memory() == other.update_memory()
    assert one.demand() == other.demand()
