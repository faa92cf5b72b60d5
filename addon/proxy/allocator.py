"""Returns free memory to the system, which the C library would otherwise keep."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
MAPPED_FROM_BYTES = 512 * 1024
"""Blocks of at least this size are mapped one by one, so that freeing them returns the memory. (By default the C
library raises this threshold up to 32 MiB as larger blocks are freed.) For each read of a socket, asyncio allocates
256 KiB and then shrinks it: if that were mapped, a small read would take three more system calls and two page faults,
and a hit twice as long."""
KEPT_AT_END_BYTES = 1024 * 1024
"""Free memory at the end of the heap that is not returned at once, so that the heap need not grow for each read."""
ARENAS = 2
EVERY_S = 10.0
"""Real seconds."""
_YOUNG, _OLDEST = 1, 2
"""Generations of objects that Python's collector has."""


def _function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None if it has none of this name."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    return found


def limit_retained() -> None:
    """Configure the allocator to keep little free memory. Must be called before threads are started."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_AT_END_BYTES)
        mallopt(_M_ARENA_MAX, ARENAS)


def release_free() -> None:
    """Return free memory from all of the heap to the system. Takes a few milliseconds."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


async def release_free_regularly(requests: Callable[[], int], in_flight: Callable[[], int]) -> None:
    """Free reference cycles, and give back free memory, every `EVERY_S`, until cancelled.

    Connections and requests end as reference cycles. Python frees those only when enough new objects are made, which a
    proxy with few requests does not do. If no request has come since the last time (`requests` returns how many have
    since the start), all objects are looked at, which with a full memory cache takes a tenth of a second; else only
    young ones, which takes few milliseconds; and none while `in_flight` requests are not answered. Objects that exist
    at the start are left out.
    """
    gc.freeze()
    seen = requests()
    while True:
        await asyncio.sleep(EVERY_S)
        before, seen = seen, requests()
        if not in_flight():
            gc.collect(_OLDEST if seen == before else _YOUNG)
        await asyncio.to_thread(release_free)
