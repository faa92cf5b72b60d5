"""Two processes divide the candidates on a store, and one of them is killed."""

import asyncio
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.opening import open_store

pytestmark = pytest.mark.live

LEASE_S = 6.0
"""Longer than a busy machine stands still."""
PATIENCE_S = 60.0


class Worker:
    """A process that prefetches."""

    def __init__(self, where: str, holder: str, fetch_s: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("prefetch_runner.py"), where, holder, str(LEASE_S), str(fetch_s)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # it was not killed half-way
                self.lines.put(line.strip())

    def says(self, patience_s: float = PATIENCE_S) -> str:
        return self.lines.get(timeout=patience_s)

    def said(self) -> list[str]:
        found = []
        while not self.lines.empty():
            found.append(self.lines.get())
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for worker in started:
        worker.kill()


async def wanted(where: str, urls: list[str]) -> None:
    """Let these be candidates that are due now."""
    store = await open_store(where, clock=RealClock())
    due = Candidate(1.0, RealClock().now() - 1e6, 9, bytes([10] * 24), 0.25)
    await store.planning.put_candidates(dict.fromkeys(urls, due))
    await store.close()


@pytest.fixture
def where(valkey: Any) -> str:
    with valkey.client as client:
        client.flushall()
    return str(valkey.url)


@pytest.mark.slow
async def test_each_candidate_is_fetched_by_the_one_that_holds_its_shard(where: str, workers: list[Worker]) -> None:
    urls = [f"http://site{n}.example/" for n in range(40)]
    workers.append(Worker(where, "one", 0.02))
    assert workers[0].says() == "holds 256"
    workers.append(Worker(where, "two", 0.02))
    assert {workers[0].says(), workers[1].says()} == {"holds 128"}
    for worker in workers:
        worker.kill()  # so that the next ones read the candidates at their start
    await wanted(where, urls)
    workers += [Worker(where, "three", 0.02), Worker(where, "four", 0.02)]
    begun: Counter[str] = Counter()
    deadline = time.monotonic() + PATIENCE_S
    while begun.total() < len(urls):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
        for worker in workers[2:]:
            begun.update(line.removeprefix("begin ") for line in worker.said() if line.startswith("begin"))
    assert begun == Counter(urls)


@pytest.mark.slow
async def test_the_candidates_of_a_killed_process_are_fetched_by_another_when_its_lease_has_ended(
    where: str, workers: list[Worker]
) -> None:
    url = "http://www.example.org/"
    await wanted(where, [url])
    workers.append(killed := Worker(where, "killed", 1000.0))
    assert {killed.says(), killed.says()} == {"holds 256", f"begin {url}"}
    workers.append(other := Worker(where, "other", 0.01))
    assert {killed.says(), other.says()} == {"holds 128"}
    await asyncio.sleep(1.5 * LEASE_S)
    assert other.said() == [], "its holder lives, and has renewed the leases"
    killed.kill()
    assert {other.says(LEASE_S + 10.0) for _ in range(3)} == {"holds 256", f"begin {url}", f"end {url}"}
