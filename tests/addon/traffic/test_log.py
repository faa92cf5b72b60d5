"""The log as the proxy writes it: what gets in, what is forgotten and removed, and what a full disk does."""

import os
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.traffic import log as log_module
from bestbefore.addon.traffic.files import DAY_S, TrafficFiles
from bestbefore.addon.traffic.log import TIDY_EVERY_S, TrafficLog, client_names, is_traffic

NOON_S = 1_706_270_400.0
HIT = Answered(NOON_S, "192.0.2.1", "GET", "http://example.org/a", 0.001, 200, Outcome.HIT, "indttl", sent_bytes=7)
MISS = replace(HIT, outcome=Outcome.MISS, reason="uri-miss", contact=True, stored=True)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON_S)


@pytest.fixture
def files(tmp_path: Path) -> TrafficFiles:
    return TrafficFiles(tmp_path)


Make = Callable[..., TrafficLog]


@pytest.fixture
async def make(files: TrafficFiles, clock: ManualClock) -> AsyncIterator[Make]:
    logs = []

    def make_one(*, keep_s: float = 30 * DAY_S, writes: bool = True) -> TrafficLog:
        logs.append(TrafficLog(files, clock, client_names("none", b"salt"), keep_s, writes=writes))
        return logs[-1]

    yield make_one
    for log in logs:
        await log.close()


def logged(files: TrafficFiles) -> list[tuple[float, str]]:
    return [(request.time_s - NOON_S, request.url[-2:]) for path in files.days() for request in files.read(path)]


def at(after_s: float, path: str = "/a") -> Answered:
    return replace(HIT, time_s=NOON_S + after_s, url=f"http://example.org{path}")


@pytest.mark.parametrize(
    ("answered", "belongs"),
    [
        (HIT, True),
        (MISS, True),
        (replace(MISS, outcome=Outcome.UPDATED), True),
        (replace(HIT, outcome=Outcome.VALIDATED), True),
        (replace(HIT, outcome=Outcome.STALE), True),
        (replace(MISS, stored=False), False),
        (replace(HIT, outcome=Outcome.BYPASS), False),
        (replace(HIT, outcome=Outcome.REFUSED), False),
        (replace(HIT, method="HEAD"), False),
        (replace(HIT, personal=True), False),
        (replace(HIT, background=True), False),
    ],
)
def test_what_belongs_in_the_log(answered: Answered, belongs: bool) -> None:
    assert is_traffic(answered) == belongs


def test_a_client_has_one_name_that_depends_on_the_salt() -> None:
    name, other = client_names("hash", b"salt"), client_names("hash", b"other salt")
    assert name("192.0.2.1") == name("192.0.2.1") != name("192.0.2.2")
    assert name("192.0.2.1") != other("192.0.2.1")
    assert len(name("192.0.2.1")) == 16
    assert client_names("address", b"")("192.0.2.1") == "192.0.2.1"
    assert client_names("none", b"")("192.0.2.1") == ""


async def test_requests_are_written_as_they_were_answered(files: TrafficFiles, make: Make) -> None:
    log = make()
    for answered in (MISS, replace(HIT, method="POST"), HIT):
        log.add(answered)
    await log.turn()
    (path,) = files.days()
    assert [(r.client, r.url, r.size, r.status, r.verdict, r.reason) for r in files.read(path)] == [
        ("", "http://example.org/a", 7, 200, "miss", "uri-miss"),
        ("", "http://example.org/a", 7, 200, "hit", "indttl"),
    ]


async def test_nothing_is_logged_unless_it_is_wanted(files: TrafficFiles, make: Make) -> None:
    log = make(writes=False)
    log.add(HIT)
    await log.turn()
    assert not files.folder.exists()


async def test_closing_writes_what_waits(files: TrafficFiles, make: Make) -> None:
    log = make()
    log.start()
    log.add(HIT)
    await log.close()
    assert logged(files) == [(0, "/a")]


async def test_it_writes_by_itself(files: TrafficFiles, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "GATHER_S", 0.0)
    log, written = make(), threading.Event()
    append = files.append
    monkeypatch.setattr(files, "append", lambda requests: (append(rows := list(requests)), rows and written.set()))
    log.start()
    log.add(HIT)
    await log_module.asyncio.to_thread(written.wait, 10)
    assert logged(files) == [(0, "/a")]


async def test_what_is_too_old_is_removed_also_when_nothing_is_logged_any_more(
    files: TrafficFiles, make: Make, clock: ManualClock
) -> None:
    log = make()
    for day in range(3):
        log.add(at(day * DAY_S))
    await log.turn()
    clock.advance(2 * DAY_S)
    later = make(keep_s=DAY_S, writes=False)
    await later.turn()
    assert [day for day, _ in logged(files)] == [DAY_S, 2 * DAY_S]
    clock.advance(DAY_S)
    await later.turn()
    assert [day for day, _ in logged(files)] == [2 * DAY_S]


async def test_it_is_tidied_hourly(files: TrafficFiles, make: Make, clock: ManualClock) -> None:
    log = make(keep_s=0)
    log.add(HIT)
    await log.turn()
    clock.set(NOON_S + 2 * DAY_S)  # which the monotonic clock does not notice
    await log.turn()
    assert logged(files)
    clock.advance(TIDY_EVERY_S)
    await log.turn()
    assert not logged(files)


async def test_what_is_forgotten_goes_from_the_files_and_from_what_waits(files: TrafficFiles, make: Make) -> None:
    log = make()
    for answered in (at(0), at(1, "/b")):
        log.add(answered)
    await log.turn()
    log.add(at(2))
    log.forget(Tombstone(NOON_S + 3, "http://example.org/a", exact=True, histories=True))
    log.add(at(4))
    await log.turn()
    log.add(at(2.5))  # it came before, and has been answered only now
    await log.turn()
    assert logged(files) == [(1, "/b"), (4, "/a")]


async def test_a_log_of_earlier_days_obeys_though_nothing_is_logged_now(files: TrafficFiles, make: Make) -> None:
    log = make()
    for answered in (at(0), at(1, "/b")):
        log.add(answered)
    await log.close()
    later = make(writes=False)
    later.forget(Tombstone(NOON_S + 3, "*.example.org", exact=False, histories=True))
    later.forget(Tombstone(NOON_S + 3, "example.org/b", exact=False, histories=True))
    await later.turn()
    assert logged(files) == [(0, "/a")]


async def test_a_tombstone_is_obeyed_once_and_let_go_of_in_the_end(
    files: TrafficFiles, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, obeyed = make(), []
    forget = files.forget
    monkeypatch.setattr(files, "forget", lambda *given: obeyed.append(given) or forget(*given))
    for _ in range(2):
        log.forget(Tombstone(NOON_S, "example.org", exact=False, histories=True))
        await log.turn()
    assert len(obeyed) == 1
    clock.advance(2 * DAY_S)
    await log.turn()
    assert log._tombstones == {}


async def test_a_full_disk_is_said_once_and_when_it_is_over(
    files: TrafficFiles, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log, append = make(), files.append

    def full(_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files, "append", full)
    for n in range(3):
        log.add(at(n))
        await log.turn()
    monkeypatch.setattr(files, "append", append)
    log.add(at(3))
    await log.turn()
    assert logged(files) == [(3, "/a")]
    assert [record.getMessage() for record in caplog.records] == [
        "the traffic log cannot be written: No space left on device; requests are not logged",
        "the traffic log is written again; 3 requests are missing in it",
    ]


async def test_what_is_to_be_forgotten_is_forgotten_on_a_full_disk_too(
    files: TrafficFiles, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make()
    log.add(HIT)
    await log.turn()

    def full(_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files, "append", full)
    log.forget(Tombstone(NOON_S + 1, "example.org", exact=False, histories=True))
    await log.turn()
    assert logged(files) == []


async def test_what_cannot_be_forgotten_now_is_tried_again(
    files: TrafficFiles, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, forget = make(), files.forget
    log.add(HIT)
    await log.turn()

    def fails(*_: object) -> int:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(files, "forget", fails)
    log.forget(Tombstone(NOON_S + 1, "example.org", exact=False, histories=True))
    await log.turn()
    assert logged(files) == [(0, "/a")]
    monkeypatch.setattr(files, "forget", forget)
    await log.turn()
    assert logged(files) == []


async def test_beyond_what_may_wait_requests_are_left_out(
    files: TrafficFiles, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_module, "WAITING_LIMIT", 2)
    log = make()
    for n in range(5):
        log.add(at(n))
    await log.turn()
    assert len(logged(files)) == 2
    assert "3 requests are missing in it" in caplog.text


async def test_a_fault_of_ours_is_not_the_end_of_it(
    files: TrafficFiles, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    log = make()
    log.add(replace(HIT, sent_bytes=object()))
    await log.turn()
    assert "a bug in bestbefore" in caplog.text
    log.add(HIT)
    await log.turn()
    assert logged(files) == [(0, "/a")]
