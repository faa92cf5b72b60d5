"""Shortage of resources: refusals at a limit are counted, and logged in one line a minute."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

LOG_EVERY_S = 60.0
CONNECTIONS, EXCHANGES, TUNNELS, ACCEPTS = "connections", "requests", "origin-connections", "accepts"
"""The limited resources; `ACCEPTS`: the system had no descriptor for a new connection."""
_OUT_OF_RESOURCE = "socket.accept() out of system resource"
"""asyncio's message for it, which it logs a hundred times in one turn of the event loop."""


class Shortage:
    """Counts refusals by the resource that was exhausted."""

    def __init__(self, limit: int, now: Callable[[], float], count: Callable[[str], None] = lambda _: None) -> None:
        """`limit`: of descriptors, for the message. `now`: the monotonic clock. `count` is called for the metric."""
        self._limit = limit
        self._now = now
        self._count = count
        self._unlogged: Counter[str] = Counter()
        self._logged_s: float | None = None
        self._last_s: float | None = None

    def refused(self, resource: str) -> None:
        """Count a refusal."""
        self._unlogged[resource] += 1
        self._count(resource)
        self._last_s = self._now()
        self.log_counts()

    def log_counts(self) -> None:
        """Log the refusals not yet logged, if the last line is a minute old. Must be called regularly."""
        now_s = self._now()
        if not self._unlogged or (self._logged_s is not None and now_s - self._logged_s < LOG_EVERY_S):
            return
        counts = ", ".join(f"{number} {resource}" for resource, number in sorted(self._unlogged.items()))
        logger.warning(
            "refused at a limit since the last such line: %s (limit of file descriptors: %d)", counts, self._limit
        )
        self._unlogged.clear()
        self._logged_s = now_s

    @property
    def is_recent(self) -> bool:
        """Whether there was a refusal within the last minute."""
        return self._last_s is not None and self._now() - self._last_s < LOG_EVERY_S

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count connections that asyncio cannot accept, in place of its log messages."""
        before = loop.get_exception_handler()

        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if context.get("message") == _OUT_OF_RESOURCE:
                self.refused(ACCEPTS)
            elif before is not None:
                before(loop, context)
            else:
                loop.default_exception_handler(context)

        loop.set_exception_handler(handle)
