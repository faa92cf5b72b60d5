import math

import pytest

from bestbefore.addon.engine.update import Update, memory_after, memory_of
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at

EXACT = Update(150.0, 150.0)


def test_an_interval_stands_for_its_middle_and_a_known_time_for_itself() -> None:
    assert (EXACT.exact, EXACT.point_s) == (True, 150.0)
    assert (Update(100.0, 200.0).exact, Update(100.0, 200.0).point_s) == (False, 150.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (EXACT, Update(150.0, 150.0), True),
        (EXACT, Update(151.0, 151.0), False),
        (EXACT, Update(100.0, 150.0), True),
        (EXACT, Update(150.0, 200.0), False),  # which is after 150
        (Update(100.0, 200.0), Update(199.0, 300.0), True),
        (Update(100.0, 200.0), Update(200.0, 300.0), False),
    ],
)
def test_two_may_be_one_where_their_intervals_meet(one: Update, other: Update, same: bool) -> None:
    assert one.may_be(other) is same
    assert other.may_be(one) is same


def test_what_both_can_be_is_the_time_known_or_the_common_interval() -> None:
    assert EXACT.narrowed(Update(100.0, 200.0)) == Update(100.0, 200.0).narrowed(EXACT) == EXACT
    assert Update(100.0, 200.0).narrowed(Update(150.0, 300.0)) == Update(150.0, 200.0)


def remembered(*updates: Update, hidden_from_s: float = math.inf) -> UpdateMemory:
    """The memory when each update became known alone, one after the other."""
    memory, known = memory_since(0.0), ()
    for update in updates:
        after = memory_after(memory, known, (*known, update), hidden_from_s)
        assert after is not None
        memory, known = after, (*known, update)
    return memory


def test_updates_are_remembered_one_by_one_as_they_are_from_the_record() -> None:
    updates = (EXACT, Update(300.0, 400.0), Update(500.0, 500.0))
    assert remembered(*updates) == memory_of(updates, (), 0.0)
    folded = ((1, 1), (3, 1))
    later = tuple(Update(u.after_s + 1e5, u.by_s + 1e5) for u in updates)
    in_hours = [Update(hour * 3600.0, hour * 3600.0) for hour in (1, 3)]
    assert remembered(*in_hours, *later) == memory_of(later, folded, 0.0)
    assert memory_of((), (), 0.0) is None


def test_before_an_update_of_known_time_the_object_counts_as_observed_only_until_the_last_contact() -> None:
    assert remembered(EXACT).observed_s == 150.0
    assert remembered(EXACT, hidden_from_s=100.0) == updated_at(memory_since(0.0), 150.0, 100.0)
    assert remembered(EXACT, hidden_from_s=100.0).observed_s == 100.0


def test_an_update_within_an_interval_is_not_remembered_again_when_the_interval_becomes_shorter() -> None:
    before, after = (Update(100.0, 200.0),), (Update(150.0, 200.0), Update(250.0, 300.0))
    memory = remembered(*before)
    assert memory_after(memory, before, after, math.inf) == remembered(*before, after[1])


@pytest.mark.parametrize(
    "after", [(EXACT,), (Update(50.0, 60.0), Update(100.0, 200.0)), ()], ids=["exact", "late", "wrong"]
)
def test_the_memory_does_not_follow_from_the_one_before(after: tuple[Update, ...]) -> None:
    before = (Update(100.0, 200.0),)
    assert memory_after(remembered(*before), before, after, math.inf) is None
