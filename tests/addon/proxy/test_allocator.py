"""Memory that is given back."""

import asyncio
import gc
import subprocess
import sys
import weakref
from contextlib import suppress
from itertools import count

import pytest

from bestbefore.addon.proxy import allocator
from tests.addon.store.waiting import until

CODE = """
from pathlib import Path
import re
from bestbefore.addon.proxy.allocator import release_free, limit_retained
def resident(): return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
limit_retained()
before = resident()
held = [bytes(70_000) for _ in range(2000)]
used = resident()
keep = held[::200]
del held
release_free()
print(used - before, resident() - before)
"""


def test_what_was_freed_is_not_resident() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    used_kb, left_kb = map(int, ran.stdout.split())
    assert used_kb > 100_000
    assert left_kb < used_kb / 5


READS = """
import resource, socket
from bestbefore.addon.proxy.allocator import limit_retained
limit_retained()
ours, theirs = socket.socketpair()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(1000):
        theirs.send(b"x" * 100)
        ours.recv(256 * 1024)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


def test_a_small_read_maps_no_memory() -> None:
    """asyncio allocates 256 KiB for each."""
    ran = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 500


class Linked:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(
    ("requests", "in_flight", "closed", "frees_young", "frees_old"),
    [
        ("a few, and then none", 0, 0, True, True),
        ("none", 0, 0, True, False),
        ("many", 0, 0, True, False),
        ("many", 1, 0, False, False),
        ("many", 1, allocator.CLOSED_AT_MOST, False, False),
    ],
)
async def test_reference_cycles_are_freed(
    monkeypatch: pytest.MonkeyPatch, requests: str, in_flight: int, closed: int, frees_young: bool, frees_old: bool
) -> None:
    """Those of old objects only when nothing is requested any more, or by Python: looking holds up what is."""
    monkeypatch.setattr(allocator, "EVERY_S", 0.001)
    most = {"none": 0, "a few, and then none": 2 * allocator.TRIM_EVERY, "many": 10**9}[requests]
    counted, rounds = count(), count()
    is_closed = False

    def requests_now() -> int:
        next(rounds)
        return min(next(counted), most)

    thresholds = gc.get_threshold()
    gc.disable()
    running = asyncio.create_task(
        allocator.release_free_regularly(requests_now, lambda: in_flight, lambda: closed if is_closed else 0)
    )
    try:
        await asyncio.sleep(0)
        old, young = Linked(), Linked()  # after the start
        while not any(old is one for one in gc.get_objects(2)):
            gc.collect(1)
            young = Linked()
        freed_old, freed_young = weakref.ref(old), weakref.ref(young)
        del old, young
        is_closed, before = True, next(rounds)
        await until(lambda: next(rounds) > before + 200)
        assert (freed_young() is None, freed_old() is None) == (frees_young, frees_old)
        assert gc.get_threshold() == (*thresholds[:2], thresholds[2] if closed else allocator.PASSES)
        if closed:
            gc.collect()
            await until(lambda: gc.get_threshold()[2] == allocator.PASSES)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        gc.enable()
        assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, 0)


async def test_all_cycles_are_freed_where_no_request_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "EVERY_S", 0.001)
    gc.disable()
    running = asyncio.create_task(allocator.release_all_regularly())
    try:
        await asyncio.sleep(0)
        old = Linked()
        gc.collect(1)
        freed = weakref.ref(old)
        del old
        await until(lambda: freed() is None)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        gc.enable()
        gc.unfreeze()
