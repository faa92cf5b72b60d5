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
EVERY_S = 1.0
"""How often cycles among young objects are freed; real seconds. The less often, the longer each time takes: it visits
what was made meanwhile and is still there, such as new copies."""
TRIM_EVERY = 10
"""After how many of these times free memory is returned. All objects are visited if nothing was requested meanwhile."""
PASSES = 300
"""How many times young objects are visited before Python may visit all objects of its own accord."""
CLOSED_AT_MOST = 500
"""How many connections may close before it may do so at any time: those with TLS leave parts in cycles."""
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


async def release_free_regularly(
    requests: Callable[[], int], in_flight: Callable[[], int], closed: Callable[[], int]
) -> None:
    """Free reference cycles, and give back free memory, until cancelled.

    Connections and requests end as reference cycles. Among young objects these are looked for every `EVERY_S`, unless
    one of `in_flight` requests is not answered. Visiting all objects takes 0.2 s with a full memory cache, and all
    requests wait. Python would do it whenever a quarter of the objects is new, with sixty misses a second once in 90 s.
    It still does so once `CLOSED_AT_MOST` connections have closed since the last time, and else after `PASSES` at the
    earliest. All objects are visited, too, when nothing was requested for a while. `requests` and `closed` return how
    many there were since the start. Objects that exist at the start are left out.
    """
    gc.freeze()
    young, middle, oldest = gc.get_threshold()
    visited, requests_then, closed_then = _complete_visits(), requests(), closed()
    try:
        while True:
            before = requests()
            for _ in range(TRIM_EVERY):
                if visited != (visited := _complete_visits()):
                    closed_then = closed()
                own_rule = closed() - closed_then >= CLOSED_AT_MOST
                gc.set_threshold(young, middle, oldest if own_rule else PASSES)
                await asyncio.sleep(EVERY_S)
                if not in_flight():
                    gc.collect(_YOUNG)
            if before == requests() != requests_then and not in_flight():
                gc.collect(_OLDEST)
                requests_then = before
            await asyncio.to_thread(release_free)
    finally:  # a stock mitmproxy may go on without the addon
        gc.set_threshold(young, middle, oldest)
        gc.unfreeze()


def _complete_visits() -> int:
    """Return how many times all objects were visited."""
    visits: int = gc.get_stats()[_OLDEST]["collections"]
    return visits


async def release_all_regularly() -> None:
    """Free reference cycles, and give back free memory, in a process that answers no requests, until cancelled.

    All objects are visited each time; those that exist at the start are left out.
    """
    gc.freeze()
    while True:
        await asyncio.sleep(TRIM_EVERY * EVERY_S)
        gc.collect()
        await asyncio.to_thread(release_free)
