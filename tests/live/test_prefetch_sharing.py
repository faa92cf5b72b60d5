"""Two processes share one plan, and one of them is killed."""

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
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.plan import Job, Plan

pytestmark = pytest.mark.live

LEASE_S = 3.0
"""Longer than a busy machine stands still."""
PATIENCE_S = 60.0


class Worker:
    """A process that runs the plan."""

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


async def planned(where: str, urls: list[str]) -> None:
    """Let a plan be in force in which these are due now."""
    clock = RealClock()
    now_s = clock.now()
    store = await open_store(where, clock=clock)
    jobs = tuple(Job(url, now_s, 1.0, 1.0, 1.0, 1.0) for url in urls)
    await store.planning.put_plan(Plan(now_s, now_s + 3600.0, 24_000.0, "freshness", len(jobs), jobs))
    await store.close()


@pytest.fixture
def where(valkey: Any) -> str:
    with valkey.client as client:
        client.flushall()
    return str(valkey.url)


async def test_each_job_is_done_once_by_one_of_them(where: str, workers: list[Worker]) -> None:
    urls = [f"http://site{n}.example/" for n in range(40)]
    for holder in ("one", "two"):
        workers.append(Worker(where, holder, 0.02))
        assert workers[-1].says() == "open"
    await planned(where, urls)
    begun: Counter[str] = Counter()
    deadline = time.monotonic() + PATIENCE_S
    while begun.total() < len(urls):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
        for worker in workers:
            begun.update(line.removeprefix("begin ") for line in worker.said() if line.startswith("begin"))
    await asyncio.sleep(1.2 * LEASE_S)  # past all leases
    begun.update(line for worker in workers for line in worker.said() if line.startswith("begin"))
    assert begun == Counter(urls)


@pytest.mark.slow
async def test_the_job_of_a_killed_holder_is_done_by_another_when_its_lease_has_ended(
    where: str, workers: list[Worker]
) -> None:
    url = "http://www.example.org/"
    workers.append(killed := Worker(where, "killed", 1000.0))
    assert killed.says() == "open"
    await planned(where, [url])
    assert killed.says() == f"begin {url}"
    workers.append(other := Worker(where, "other", 0.01))
    assert other.says() == "open"
    await asyncio.sleep(2 * LEASE_S)
    assert other.said() == [], "its holder lives, and has renewed the lease"
    killed.kill()
    assert other.says(LEASE_S + 10.0) == f"begin {url}"
    assert other.says() == f"end {url}"
