"""Which members of a group were observed for how long; the same on random contacts: test_learning.py."""

import numpy as np

from bestbefore.policies.units import HOUR_S
from bestbefore.replay.kernels.arrays.membership import Membership, hours_observed, join, meet


def test_a_member_is_observed_from_the_start_of_the_hour_of_its_first_contact() -> None:
    members = Membership.of(np.zeros(3, dtype=np.int32), 1)
    meet(members, 0, 2, 1.5 * HOUR_S)
    meet(members, 0, 0, 4.5 * HOUR_S)
    assert hours_observed(members, 0, -HOUR_S, 5 * HOUR_S) == 0.0
    join(members, 0, 0)
    assert members.since_s[0] == 4 * HOUR_S
    assert hours_observed(members, 0, -HOUR_S, 5 * HOUR_S) == 1.0
    join(members, 0, 2)
    assert members.since_s[0] == HOUR_S
    assert hours_observed(members, 0, -HOUR_S, 5 * HOUR_S) == 1.0 + 4.0


def test_what_lies_before_the_window_does_not_count() -> None:
    members = Membership.of(np.zeros(3, dtype=np.int32), 1)
    for object_, hour in enumerate((1, 2, 6)):
        meet(members, 0, object_, hour * HOUR_S)
    join(members, 0, 0)
    join(members, 0, 2)
    assert hours_observed(members, 0, 3 * HOUR_S, 8 * HOUR_S) == 5.0 + 2.0
    join(members, 0, 1)  # met before the window, a member only now
    assert hours_observed(members, 0, 3 * HOUR_S, 8 * HOUR_S) == 5.0 + 5.0 + 2.0
    assert hours_observed(members, 0, 7 * HOUR_S, 9 * HOUR_S) == 3 * 2.0


def test_groups_are_apart() -> None:
    members = Membership.of(np.array([0, 1, 0], dtype=np.int32), 2)
    for object_, group in enumerate((0, 1, 0)):
        meet(members, group, object_, object_ * HOUR_S)
        join(members, group, object_)
    assert members.since_s.tolist() == [0.0, HOUR_S]
    assert hours_observed(members, 1, -HOUR_S, 3 * HOUR_S) == 2.0
    assert hours_observed(members, 0, -HOUR_S, 3 * HOUR_S) == 3.0 + 1.0
