"""What kill -9 of a proxy or of its Valkey costs: at most the last moments, never the store, and no orphan.

BESTBEFORE_KILL_ROUNDS sets how often; the default keeps the suite quick.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.opening import open_store

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc"),
]

ROUNDS = int(os.environ.get("BESTBEFORE_KILL_ROUNDS", "4"))
PATIENCE_S = 60.0
STILL_S = 2.0
"""For so long a busy machine may stand still, just before a kill."""
PROXY_KILL_S = 1.0
"""What a kill of the proxy may cost, as docs/decisions/store.md has it: a batch gathers for 0.2 s, and is written."""
VALKEY_KILL_S = 2.0
"""What a kill of the server may cost."""


class Writer:
    """A process that uses the store; what it learnt, and when."""

    def __init__(self, start_process, state: Path) -> None:
        self.learnt: list[tuple[str, float]] = []
        self.process = start_process(
            [sys.executable, Path(__file__).with_name("store_writer.py"), state],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "open\n", self.process.communicate(timeout=PATIENCE_S)[1]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            if line.endswith("\n"):
                url, t = line.split()
                self.learnt.append((url, float(t)))

    def learns(self, n: int) -> None:
        """Wait until it has learnt so many more."""
        wanted, deadline = len(self.learnt) + n, time.monotonic() + PATIENCE_S
        while len(self.learnt) < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self) -> None:
        """However it ends, wait for it."""
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE_S)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


def servers(state: Path) -> list[int]:
    """The processes of servers that use a state directory."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cwd").readlink() == state / "valkey" and "valkey" in (folder / "comm").read_text():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def wait_for_servers(state: Path, wanted: int, *, other_than: int = 0) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(found := servers(state)) != wanted or other_than in found:
        assert time.monotonic() < deadline, f"{found} run, {wanted} expected"
        time.sleep(0.01)


async def written(state: Path, urls: set[str]) -> set[tuple[str, float]]:
    """The contacts of which the records tell: the first of an object is its t_0, each other one found an update."""
    store = await open_store("embedded", clock=RealClock(), state=state)
    found = set()
    for url in urls:
        record = await store.record(url)
        if record is not None:
            assert record.contacts == 1 + record.n_updates
            found |= {(url, record.since_s), *((url, update.by_s) for update in record.updates)}
    await store.close()
    return found


def stood_still_s(learnt_s: list[float], from_s: float, to_s: float) -> float:
    """The longest that nothing was learnt between two moments, which was the machine: it is learnt all the time."""
    within_s = [from_s, *(t_s for t_s in learnt_s if from_s <= t_s <= to_s), max(from_s, to_s)]
    return max(later - sooner for sooner, later in pairwise(within_s))


@pytest.mark.slow
async def test_a_kill_costs_at_most_the_last_moments_and_never_the_store(tmp_path, start_process):
    state, draw = tmp_path / "state", random.Random(1)
    learnt, kills = [], []
    writer = Writer(start_process, state)
    for i in range(ROUNDS):
        writer.learns(draw.randrange(30, 300))
        (server,) = servers(state)
        if i % 2:
            writer.process.kill()
            kills.append((time.time(), PROXY_KILL_S))
            writer.end()
            learnt += writer.learnt
            wait_for_servers(state, 0)
            writer = Writer(start_process, state)
        else:
            os.kill(server, signal.SIGKILL)
            kills.append((time.time(), VALKEY_KILL_S))
            wait_for_servers(state, 1, other_than=server)
    writer.learns(30)
    writer.end()
    assert writer.process.returncode == 0
    learnt += writer.learnt
    wait_for_servers(state, 0)

    lost = set(learnt) - await written(state, {url for url, _ in learnt})
    assert all(t_s <= kills[-1][0] for _, t_s in lost), "lost what was learnt after the last kill"
    first_s = max((min(at_s - t_s for at_s, _ in kills if at_s >= t_s) for _, t_s in lost), default=0.0)
    print(f"{len(learnt)} learnt, {len(lost)} lost, the first {first_s:.2f} s before a kill")
    learnt_s = sorted(t_s for _, t_s in learnt)
    for _, t_s in lost:
        excused = any(
            0 <= at_s - t_s <= bound_s + STILL_S + stood_still_s(learnt_s, t_s, at_s) for at_s, bound_s in kills
        )
        assert excused, "lost what should have been written"
    assert len(learnt) > 30 * ROUNDS
