import numpy as np

from bestbefore.policies.units import HOUR_S
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import Updates

# p/b changes in hour 30 and twice in hour 1, p/a in hour 1, q in hour 2; nothing is known to change r.
UPDATES = Updates.of(
    np.array([1.0, 1.5, 1.7, 2.0, 30.5]) * HOUR_S, np.array([0, 1, 0, 2, 0], dtype=np.int32), ("p/b", "p/a", "q")
)
TRUTH = Truth.of(UPDATES, ("r", "p/a", "q", "p/b"), Grouping.PREFIX)


def updates_h(object_: int) -> list[float]:
    owner = TRUTH.owner_of[object_]
    return list((TRUTH.updates_s[TRUTH.firsts[owner] : TRUTH.firsts[owner + 1]] / HOUR_S).tolist())


def test_each_object_has_its_updates_in_order_of_time() -> None:
    assert [updates_h(object_) for object_ in range(4)] == [[], [1.5], [2.0], [1.0, 1.7, 30.5]]


def test_a_group_has_a_place_for_the_hour_of_each_update_of_a_member() -> None:
    group = TRUTH.group_of[1]
    assert group == TRUTH.group_of[3] != TRUTH.group_of[2]
    hours = TRUTH.nothing_in_hours()
    assert np.diff(hours.firsts)[[group, TRUTH.group_of[2], TRUTH.group_of[0]]].tolist() == [4, 1, 0]
    assert hours.ends.tolist() == hours.firsts[:-1].tolist()


def test_there_may_be_no_updates_and_no_objects() -> None:
    none = Updates.of(np.empty(0), np.empty(0, dtype=np.int32), ())
    assert Truth.of(none, ("a",), Grouping.ALL).firsts.tolist() == [0, 0]
    assert len(Truth.of(none, (), Grouping.ALL).nothing_in_hours().ends) == 0
