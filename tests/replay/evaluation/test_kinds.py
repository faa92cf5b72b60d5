import numpy as np

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.evaluation.kinds import kind_of, kinds_of

DAYS = np.arange(30) * DAY_S


def test_updates_at_the_same_hour_of_each_day_are_cyclic() -> None:
    assert kind_of(DAYS + 5 * HOUR_S) == "cyclic"


def test_updates_of_which_more_than_half_lie_within_a_day_are_bursty() -> None:
    burst_s = 3 * DAY_S + np.arange(31) * 600.0
    assert kind_of(np.sort(np.concatenate([DAYS, burst_s]))) == "bursty"
    assert kind_of(np.array([9.0])) == "bursty"


def test_updates_at_any_hour_are_mixed() -> None:
    assert kinds_of({"a": np.arange(48) * 7 * HOUR_S, "b": np.empty(0)}) == {"a": "mixed", "b": "mixed"}
