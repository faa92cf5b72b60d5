"""The general assignment, where single crawls are kept from single slots."""

import numpy as np
import pytest

from bestbefore.policies.prefetch.slots.assignment import Slots, assign
from bestbefore.policies.prefetch.slots.restricted import assign_restricted

SLOTS = Slots.of(4.0, [4])


def test_without_restrictions_the_cost_is_that_of_the_unrestricted_assignment():
    rng = np.random.default_rng(2)
    slots = Slots.of(60.0, [30, 20])
    ideal_s, released = rng.uniform(0.0, 50.0, 40), rng.random(40) < 0.2
    general = assign_restricted(slots, ideal_s, released, np.ones((40, 50), dtype=np.bool_))
    special = assign(slots, ideal_s, released)
    assert np.sum(np.abs(general.start_s - ideal_s)) == pytest.approx(np.sum(np.abs(special.start_s - ideal_s)))


def test_a_forbidden_slot_is_left_to_others():
    allowed = np.ones((2, 4), dtype=np.bool_)
    allowed[0, 1] = False
    assignment = assign_restricted(SLOTS, np.array([1.0, 2.2]), np.zeros(2, dtype=np.bool_), allowed)
    assert assignment.start_s.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("ideal_s", "released", "forbidden", "message"),
    [
        ([3.5], [True], [], "row 0: the crawl may use none of the slots"),
        ([1.0, 1.0], [False, False], [(1, slot) for slot in range(4)], "row 1: the crawl may use none"),
        ([3.0, 2.5], [True, True], [], "no assignment gives each crawl a slot"),
        ([np.nan], [False], [], "row 0: the ideal time is nan"),
    ],
)
def test_what_cannot_be_assigned_is_refused(ideal_s, released, forbidden, message):
    allowed = np.ones((len(ideal_s), 4), dtype=np.bool_)
    for row, slot in forbidden:
        allowed[row, slot] = False
    with pytest.raises(ValueError, match=message):
        assign_restricted(SLOTS, np.array(ideal_s), np.array(released), allowed)


def test_permissions_of_another_shape_and_too_many_pairs_are_refused():
    with pytest.raises(ValueError, match="permissions for 1 crawls and 4 slots"):
        assign_restricted(SLOTS, np.array([1.0]), np.array([False]), np.ones((4, 1), dtype=np.bool_))
    n = 10_001
    everything = np.broadcast_to(np.True_, (n, n))
    with pytest.raises(ValueError, match="at most 100000000 pairs"):
        assign_restricted(Slots.of(4.0, [n]), np.zeros(n), np.zeros(n, dtype=np.bool_), everything)
