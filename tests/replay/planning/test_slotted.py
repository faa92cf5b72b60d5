import numpy as np
import pytest

from bestbefore.policies.prefetch.slots.assignment import Downtime
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.closed_file import ClosedTime
from bestbefore.replay.planning.moments import Crawls
from bestbefore.replay.planning.slotted import slotted


def crawls(at_s: list[float], released: list[bool] | None = None) -> Crawls:
    released = [False] * len(at_s) if released is None else released
    return Crawls(np.arange(len(at_s)), np.array(at_s), np.array(released, dtype=np.bool_))


def test_contacts_at_one_moment_are_made_by_several_crawlers_and_before_and_after() -> None:
    """Two crawlers with slots at 0, 10, 20, 30: of three contacts best at 10 two have it, one is 10 s off."""
    ids = Ids.of(["a", "b", "c"])
    found = slotted(crawls([10.0, 10.0, 10.0]), ids, [4, 4], 40.0)
    assert sorted(np.abs(found.late_slots).tolist()) == [0.0, 0.0, 1.0]
    rows = list(found.rows(ids))
    assert [(row[3], row[1]) for row in rows] == sorted((row[3], row[1]) for row in rows)
    assert {row[0] for row in rows} == {"a", "b", "c"}
    assert all(row[2] == row[3] / 10.0 and row[4] == 10.0 for row in rows)
    assert set(found.slot_s.tolist()) == {10.0}


def test_a_potential_update_is_awaited() -> None:
    found = slotted(crawls([11.0, 11.0], [True, False]), Ids.of(["a", "b"]), [4], 40.0)
    assert found.assignment.start_s.tolist() == [20.0, 10.0]


def test_more_contacts_than_slots_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 contacts in a period for 1 x 2 slots: expected as many slots at least"):
        slotted(crawls([1.0, 2.0, 3.0]), Ids.of(["a", "b", "c"]), [2], 40.0)


def test_slots_beyond_what_memory_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1,000,000 x 1,000,000 slots: expected 100,000,000 at most"):
        slotted(crawls([1.0]), Ids.of(["a"]), [10**6] * 10**6, 40.0)


def test_a_potential_update_after_the_last_slot_is_named_by_its_object() -> None:
    with pytest.raises(ValueError, match=r"object 'b': no slot is free at or after its release time 35\.0 s"):
        slotted(crawls([1.0, 35.0], [False, True]), Ids.of(["a", "b"]), [4], 40.0)


def test_crawlers_with_fewer_slots_have_longer_ones() -> None:
    found = slotted(crawls([0.0, 10.0, 20.0, 30.0, 21.0]), Ids.of("abcde"), [4, 1], 40.0)
    assert found.assignment.crawler.tolist().count(1) == 1
    assert found.slot_s.tolist() == [40.0 if crawler else 10.0 for crawler in found.assignment.crawler]
    assert [row[2] for row in found.rows(Ids.of("abcde")) if row[1] == 1] == [0]


def test_closed_slots_are_used_by_nobody_and_those_closed_to_an_object_by_others() -> None:
    """Slots at 0, 10, 20, 30; no contact starts before 10, that of a not before 30."""
    closed = [ClosedTime(Downtime(0.0, 10.0)), ClosedTime(Downtime(0.0, 30.0), "a")]
    found = slotted(crawls([0.0, 30.0]), Ids.of("ab"), [4], 40.0, closed)
    assert found.assignment.start_s.tolist() == [30.0, 20.0]


@pytest.mark.parametrize(("closed", "problem"), [
    (ClosedTime(Downtime(0.0, 30.0)), "2 contacts in a period for 1 x 4 slots, of which 3 are closed"),
    (ClosedTime(Downtime(0.0, 40.0), "b"), "object 'b': the crawl may use none of the slots"),
    (ClosedTime(Downtime(0.0, 40.0), "c"), "closed to 'c', which is no object of the plan"),
])
def test_contacts_for_which_too_few_slots_are_open_are_refused(closed: ClosedTime, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        slotted(crawls([0.0, 30.0]), Ids.of("ab"), [4], 40.0, [closed])
