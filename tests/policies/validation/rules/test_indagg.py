import numpy as np
import pytest

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indagg import IndAgg
from bestbefore.policies.validation.rules.indhist import IndHist

HOUR = 3600.0
DAY = 86400.0
T = 6 * DAY
REPEATING = History.of([HOUR, DAY + HOUR, 2 * DAY + 9 * HOUR, 3 * DAY + 9 * HOUR], 0.0)  # 2 hours of the day, 4 updates
SCATTERED = History.of([HOUR, DAY + 2 * HOUR, 2 * DAY + 9 * HOUR, 3 * DAY + 9 * HOUR], 0.0)  # 3, 4
GROUP = Group.of_updates(np.concatenate([REPEATING.times_s, SCATTERED.times_s]), [0.0, 0.0])


def test_an_object_that_repeats_its_hours_has_its_own_rates() -> None:
    assert IndAgg(0.1, 0.5).verdict(REPEATING, GROUP, T) == IndHist(0.1).verdict(REPEATING, GROUP, T)


def test_an_object_whose_updates_lie_in_too_many_hours_has_the_groups() -> None:
    assert IndAgg(0.1, 0.5).verdict(SCATTERED, GROUP, T) == AggHist(0.1).verdict(SCATTERED, GROUP, T)
    assert IndAgg(0.1, 0.75).verdict(SCATTERED, GROUP, T).reason == "indhist"


def test_an_object_without_updates_has_the_groups() -> None:
    assert IndAgg().verdict(History.of([], 0.0), GROUP, T).reason == "agghist"


def test_with_threshold_0_it_is_agghist_and_with_1_indhist() -> None:
    for history in (REPEATING, SCATTERED):
        assert IndAgg(0.1, 0.0).verdict(history, GROUP, T) == AggHist(0.1).verdict(history, GROUP, T)
        assert IndAgg(0.1, 1.0).verdict(history, GROUP, T) == IndHist(0.1).verdict(history, GROUP, T)


def test_hours_beyond_a_window_are_not_counted() -> None:
    decided = IndAgg(0.1, 0.5).decide(HistoryFeatures(SCATTERED, GROUP, T, window_s=T - 1.5 * DAY))
    assert IndAgg.alternatives[decided.reason] == "indhist"


def test_folded_hours_are_counted() -> None:
    folded = History.of([], 0.0, folded=[(1, 3), (25, 2)])
    assert IndAgg(0.1, 0.2).verdict(folded, GROUP, T).reason == "indhist"


def test_the_threshold_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"threshold must be a number from 0 to 1, not 1\.5"):
        IndAgg(threshold=1.5)
