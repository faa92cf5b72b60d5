import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.autottl import AutoTtl
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.fallback import LastUpdate
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
T = 100 * DAY


def posted(*hours_ago: float) -> History:
    return History.of([T - h * HOUR for h in hours_ago], 0.0)


def test_the_interval_is_the_mean_gap() -> None:
    assert AutoTtl().verdict(posted(1, 2, 10, 13), None, T) == Verdict(T + 4 * HOUR, "autottl")


def test_it_is_kept_between_an_hour_and_a_day() -> None:
    assert AutoTtl().verdict(posted(1.0, 1.5, 1.6), None, T).expiry_s == T + HOUR
    assert AutoTtl().verdict(posted(1, 100), None, T).expiry_s == T + DAY


def test_what_is_older_than_the_window_does_not_count() -> None:
    assert AutoTtl().verdict(posted(1, 6, 11, 31 * 24), None, T).expiry_s == T + 5 * HOUR
    assert AutoTtl(window_s=7 * HOUR).verdict(posted(1, 6, 11), None, T).expiry_s == T + 5 * HOUR
    assert AutoTtl().verdict(posted(1, 31 * 24), None, T).expiry_s == T + DAY


def test_an_idle_feed_is_polled_once_a_day() -> None:
    assert AutoTtl().verdict(posted(48, 50), None, T).expiry_s == T + 2 * HOUR
    assert AutoTtl().verdict(posted(49, 51), None, T).expiry_s == T + DAY
    assert AutoTtl().verdict(posted(), None, T).expiry_s == T + DAY


def test_within_bounds_the_fallback_decides_until_three_updates_are_known() -> None:
    bounded = Bounded(AutoTtl(), fallback=(LastUpdate(0.1),))
    assert bounded.verdict(posted(1, 3), None, T) == Verdict(T + 0.1 * HOUR, "fallback_ttl")
    assert bounded.verdict(posted(1, 3, 5), None, T) == Verdict(T + 2 * HOUR, "autottl")


def test_min_must_not_exceed_max() -> None:
    with pytest.raises(ValueError, match=r"min \(7200 s\) must not exceed max \(3600 s\)"):
        AutoTtl(min_s=7200.0, max_s=3600.0)


def test_the_window_is_a_second_or_more() -> None:
    assert AutoTtl(window_s=1.0).verdict(posted(1, 2), None, T).expiry_s == T + DAY
    with pytest.raises(ValueError, match=r"window must be a finite number of 1 or more, not 0\.9"):
        AutoTtl(window_s=0.9)
