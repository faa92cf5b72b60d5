import numpy as np
import pytest

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.groupgap import GroupGap
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
T = 100 * DAY
UNKNOWN = History.of([], 0.0)


def group(*hours_ago: float) -> Group:
    return Group.of_updates(np.array([T - h * HOUR for h in hours_ago]), [0.0, 0.0])


def test_the_interval_is_the_median_gap_of_the_group() -> None:
    assert GroupGap().verdict(UNKNOWN, group(30, 5, 3, 0.5), T) == Verdict(T + 2.5 * HOUR, "groupgap")
    assert GroupGap(factor=2.0).verdict(UNKNOWN, group(30, 5, 3), T).expiry_s == T + DAY
    assert GroupGap(factor=2.0).verdict(UNKNOWN, group(9, 5, 3), T).expiry_s == T + 6 * HOUR


def test_only_the_last_gaps_count() -> None:
    busy_once = [50 + n / 1000 for n in range(1000)]
    assert GroupGap().verdict(UNKNOWN, group(*range(1, 34), *busy_once), T).expiry_s == T + HOUR


def test_it_is_kept_between_a_minute_and_a_day() -> None:
    assert GroupGap().verdict(UNKNOWN, group(5, 5, 5), T).expiry_s == T + 60.0
    assert GroupGap().verdict(UNKNOWN, group(90, 5), T).expiry_s == T + DAY


@pytest.mark.parametrize("known", [None, group(), group(5)])
def test_a_group_without_a_gap_says_nothing(known: Group | None) -> None:
    assert GroupGap().verdict(UNKNOWN, known, T).expiry_s == T + DAY
