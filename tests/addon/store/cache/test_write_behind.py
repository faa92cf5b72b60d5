"""Writing goes on, whatever happens to one write."""

import asyncio
import time

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.interface import UnavailableError, UnwritableError
from bestbefore.addon.store.cache import write_behind
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.write_behind import WriteBehind, any_of
from tests.addon.store.waiting import PATIENCE_S


class Part:
    """Something that waits, and fails to be written a given number of times."""

    def __init__(self, *errors):
        self.waiting = 3
        self.writes = 0
        self.errors = list(errors)
        self.written = asyncio.Event()

    def snapshot(self):
        left = self.waiting - 1
        return lambda: self.waiting > 0 and self.writes <= left

    async def write(self, backend):
        if self.errors:
            raise self.errors.pop(0)
        self.writes += 1
        self.waiting -= 1
        if not self.waiting:
            self.written.set()


@pytest.fixture
def start(monkeypatch):
    monkeypatch.setattr(write_behind, "RETRY_LONGEST_S", 0.05)
    monkeypatch.setattr(write_behind, "IDLE_S", 60.0)  # what waits is written since the task is woken, not in the end
    tasks = []

    async def start_one(*parts, connect=None):
        async def reach():
            """It is there."""

        notices = Notices()
        link = Link(None, RealClock(), notices)
        made = WriteBehind(link, notices, Faults(time.monotonic), time.monotonic, parts, connect or reach, reach)
        await made.start()
        tasks.append(made)
        return link, made

    yield start_one
    assert all(made._task.done() for made in tasks), "a test must close what it starts"


async def test_pending_entries_are_written_a_moment_after_the_task_is_woken(start):
    part = Part()
    link, made = await start(part)
    link.wake()
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()


async def test_in_a_hurry_it_is_written_at_once(start, monkeypatch):
    monkeypatch.setattr(write_behind, "GATHER_S", 60.0)
    part = Part()
    part.waiting = 1
    link, made = await start(part)
    link.wake(hurry=True)
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()


async def test_a_lost_connection_is_found_again_and_the_rest_is_written(start, logged):
    part = Part(UnavailableError("gone"), UnavailableError("gone again"))
    link, made = await start(part)
    link.wake()
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()
    assert len(logged()) == 4


async def test_a_backend_that_is_found_and_lost_at_once_is_not_asked_without_end(start, monkeypatch):
    monkeypatch.setattr(write_behind, "GATHER_S", 0.0)
    monkeypatch.setattr(write_behind, "RETRY_LONGEST_S", 60.0)
    part = Part(*[UnavailableError("a fault of the server")] * 1000)
    link, made = await start(part)
    link.wake()
    await asyncio.sleep(0.5)
    made._task.cancel()
    part.errors, tries = [], 1000 - len(part.errors)
    await made.close()
    assert 1 <= tries <= 3, "at once, and after 0.1 and 0.3 s"


async def test_what_is_refused_is_tried_again_and_the_others_are_written_meanwhile(start, logged, monkeypatch):
    monkeypatch.setattr(write_behind, "SETTLED_S", 0.0)
    refused, other = Part(*[UnwritableError("no disk")] * 3), Part()
    link, made = await start(refused, other)
    link.wake()
    await asyncio.wait_for(asyncio.gather(refused.written.wait(), other.written.wait()), PATIENCE_S)
    await made.close()
    assert logged() == ["the store refuses to write (no disk); what was learnt waits", "the store accepts writes again"]


async def test_what_is_refused_now_and_then_is_said_once(start, logged):
    part = Part(UnwritableError("full"))
    link, made = await start(part)
    for _ in range(3):
        part.waiting, part.errors = 1, [UnwritableError("full")]
        part.written.clear()
        link.wake(hurry=True)
        await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()
    assert logged() == ["the store refuses to write (full); what was learnt waits"]


async def test_a_fault_of_ours_is_not_the_end_of_writing(start, logged):
    part = Part(ZeroDivisionError("a fault"))
    link, made = await start(part)
    link.wake()
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()
    assert "this is a bug in bestbefore" in logged()[0]


async def test_after_a_fault_between_writes_what_waits_is_written_too(start, logged, monkeypatch):
    part = Part()
    link, made = await start(part)
    turns, faults = made._turn, [ZeroDivisionError("a fault")]

    async def turn():
        if faults:
            link.work.clear()
            raise faults.pop()
        await turns()

    monkeypatch.setattr(made, "_turn", turn)
    part.written.clear()
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    await made.close()
    assert "this is a bug in bestbefore" in logged()[0]


async def test_a_fault_of_one_part_does_not_keep_the_others_from_being_written(start):
    faulty, other = Part(*[ZeroDivisionError("a fault")] * 1000), Part()
    link, made = await start(faulty, other)
    link.wake()
    await asyncio.wait_for(other.written.wait(), PATIENCE_S)
    assert faulty.waiting == 3
    faulty.errors = []
    await made.close()
    assert faulty.waiting == 0


async def test_the_write_lag_is_shown_while_entries_are_pending(start, monkeypatch):
    part = Part(*[UnwritableError("no disk")] * 1000)
    begun_s = time.monotonic()
    link, made = await start(part)
    link.wake()
    assert made.lag_s == 0
    monkeypatch.setattr(write_behind, "LATE_S", 0.2)
    await asyncio.sleep(0.5)
    assert 0.2 < made.lag_s <= time.monotonic() - begun_s
    part.errors = []
    await asyncio.wait_for(part.written.wait(), PATIENCE_S)
    assert made.lag_s == 0
    await made.close()


async def test_a_clean_stop_writes_what_waits(start):
    part = Part()
    _, made = await start(part)
    await made.close()
    assert part.waiting == 0


async def test_a_clean_stop_gives_an_absent_backend_a_moment_to_come_back(start):
    tries = []

    async def connect():
        tries.append(1)
        if len(tries) < 4:
            raise UnavailableError("not yet")

    part = Part()
    _, made = await start(part, connect=connect)
    await made.close()
    assert part.waiting == 0


async def test_a_clean_stop_waits_only_so_long(start, monkeypatch):
    monkeypatch.setattr(write_behind, "CLOSE_S", 0.05)

    class Stuck(Part):
        async def write(self, backend):
            await asyncio.Event().wait()

    _, made = await start(Stuck())
    async with asyncio.timeout(PATIENCE_S):
        await made.close()


async def test_a_flush_writes_what_waits_when_it_begins_and_not_what_comes_meanwhile(start):
    class Steady(Part):
        """One more waits after each write."""

        async def write(self, backend):
            await super().write(backend)
            self.waiting += 1
            assert self.writes < 100

    part = Steady()
    _, made = await start(part)
    assert await asyncio.wait_for(made.flush(), PATIENCE_S)
    assert (part.writes, part.waiting) == (3, 3)
    part.waiting = 0
    await made.close()


def test_items_are_asked_about_until_they_wait_no_more():
    left, asked = {1, 2}, []
    still = any_of([1, 2, 3], lambda item: asked.append(item) or item in left)
    assert still()
    left.remove(2)
    assert still()
    left.remove(1)
    assert not still()
    assert asked == [3, 2, 2, 1, 1]


async def test_a_fault_in_reading_what_is_due_is_logged_and_writing_goes_on(logged):
    part = Part()
    part.waiting = 1

    async def reach():
        """It is there."""

    async def read_due():
        raise ZeroDivisionError

    link = Link(None, RealClock(), Notices())
    made = WriteBehind(link, Notices(), Faults(time.monotonic), time.monotonic, [part], reach, read_due)
    await made.start()
    await made.close()
    assert part.waiting == 0
    assert "this is a bug in bestbefore" in logged()[0]
    assert made._task.done()


@pytest.mark.parametrize("where", ["writing", "reading"])
async def test_a_flush_in_which_something_fails_returns_false(where):
    async def reach():
        """It is there."""

    part, faults = Part(), [ZeroDivisionError("a fault")]
    part.waiting = 1
    if where == "writing":
        part.errors, faults = faults, []

    async def read_due():
        if faults:
            raise faults.pop()

    link = Link(None, RealClock(), Notices())
    made = WriteBehind(link, Notices(), Faults(time.monotonic), time.monotonic, [part], reach, read_due)
    await made.start()
    assert not await made.flush()
    assert await made.flush()
    await made.close()
    assert part.waiting == 0
