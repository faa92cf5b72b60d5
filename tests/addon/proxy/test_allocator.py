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
    ("requests", "in_flight", "frees_young", "frees_old"),
    [(0, 0, True, True), (1, 0, True, False), (0, 1, False, False)],
    ids=["idle", "between requests", "within a request"],
)
async def test_reference_cycles_are_freed(
    monkeypatch: pytest.MonkeyPatch, requests: int, in_flight: int, frees_young: bool, frees_old: bool
) -> None:
    """Those of old objects only while nothing is requested: looking for them holds up what is."""
    monkeypatch.setattr(allocator, "EVERY_S", 0.01)
    counted, looks = count(0, requests), 0

    def in_flight_now() -> int:
        nonlocal looks
        looks += 1
        return in_flight

    gc.disable()
    running = asyncio.create_task(allocator.release_free_regularly(lambda: next(counted), in_flight_now))
    try:
        await asyncio.sleep(0)
        old, young = Linked(), Linked()  # after the start
        while not any(old is one for one in gc.get_objects(2)):
            gc.collect(1)
            young = Linked()
        freed_old, freed_young = weakref.ref(old), weakref.ref(young)
        del old, young
        before = looks
        await until(lambda: looks > before + 3)
        assert (freed_young() is None, freed_old() is None) == (frees_young, frees_old)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        gc.enable()
        gc.unfreeze()
