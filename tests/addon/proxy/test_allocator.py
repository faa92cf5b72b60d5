"""Memory that is given back."""

import asyncio
import gc
import subprocess
import sys
import weakref
from contextlib import suppress

import pytest

from bestbefore.addon.proxy import allocator

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


@pytest.mark.parametrize("idle", [True, False])
async def test_reference_cycles_are_freed_while_the_proxy_is_idle(monkeypatch: pytest.MonkeyPatch, idle: bool) -> None:
    monkeypatch.setattr(allocator, "EVERY_S", 0.01)
    looked = asyncio.Event()

    def is_idle() -> bool:
        looked.set()
        return idle

    gc.disable()
    running = asyncio.create_task(allocator.release_free_regularly(is_idle))
    try:
        await asyncio.sleep(0)
        made = Linked()  # after the start
        freed = weakref.ref(made)
        del made
        await looked.wait()
        await asyncio.sleep(0.05)
        assert (freed() is None) == idle
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        gc.enable()
        gc.unfreeze()
