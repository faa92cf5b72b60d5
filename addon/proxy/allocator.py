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


async def release_free_regularly(is_idle: Callable[[], bool]) -> None:
    """Free reference cycles while the proxy is idle, and give back free memory, every `EVERY_S`, until cancelled.

    Connections and requests end as reference cycles. Python frees those only when enough new objects are made, which an
    idle proxy does not do. Objects that exist at the start are left out, so that it takes few milliseconds.
    """
    gc.freeze()
    while True:
        await asyncio.sleep(EVERY_S)
        if is_idle():
            gc.collect()
        await asyncio.to_thread(release_free)
