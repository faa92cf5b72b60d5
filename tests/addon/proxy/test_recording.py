"""When exchanges are recorded: alone or together, and before anyone reads the counts."""

import asyncio

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.proxy import recording
from bestbefore.addon.proxy.recording import Recording
from bestbefore.addon.store_status import StoreStatus

STATUS = StoreStatus(False, "", frozenset(), 0, 0, 0, 0, 0.0, {}, {}, 0, 0.0, 0)

HIT = Answered(0.0, "127.0.0.1", "GET", "http://example.org/", 0.001, 200, Outcome.HIT, "indttl")
MISS = Answered(0.0, "127.0.0.1", "GET", "http://example.org/", 0.001, 200, Outcome.MISS, "uri-miss", contact=True)


class Recorded:
    """A recording, and how many exchanges it has recorded each time."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.recording = Recording(RealClock(), lambda: STATUS, lambda _client, _fields: "", lambda _url: None)
        self.recording.watch(lambda exchanges: self.batches.append(len(exchanges)))


async def test_hits_are_recorded_together_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "GATHER_S", 0.5)  # which is not over while a busy machine stands still
    recorded = Recorded()
    for number in (3, 1):
        for _ in range(number):
            recorded.recording.add_soon(HIT)
        await asyncio.sleep(0)
        assert number not in recorded.batches
        while number not in recorded.batches:  # noqa: ASYNC110
            await asyncio.sleep(recording.GATHER_S)
    assert recorded.batches == [3, 1]


async def test_a_contact_is_recorded_before_anything_more_is_read_with_the_hits_before_it() -> None:
    recorded = Recorded()
    recorded.recording.add_soon(HIT)
    recorded.recording.add_soon(MISS)
    await asyncio.sleep(0)
    assert recorded.batches == [2]


async def test_no_more_are_recorded_at_once_than_delay_an_answer_little() -> None:
    recorded = Recorded()
    for _ in range(recording.GATHERED * 2 + 1):
        recorded.recording.add_soon(HIT)
    assert recorded.batches == [recording.GATHERED] * 2


async def test_all_that_was_answered_is_counted_when_it_is_read() -> None:
    recorded = Recorded()
    recorded.recording.add_soon(HIT)
    await recorded.recording.count()
    assert recorded.batches == [1]
    shown = recorded.recording.metrics.exposition("")[0]
    assert b'bestbefore_requests_total{outcome="hit",reason="indttl"} 1.0' in shown


async def test_nothing_waits_when_it_is_closed() -> None:
    recorded = Recorded()
    recorded.recording.add_soon(HIT)
    recorded.recording.close(summary=False)
    assert recorded.batches == [1]
    await asyncio.sleep(recording.GATHER_S * 3)
    assert recorded.batches == [1]
