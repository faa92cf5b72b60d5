"""The shortage of resources: what was refused at a limit is counted, and logged in one line a minute."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

LOG_EVERY_S = 60.0
CONNECTIONS, EXCHANGES, TUNNELS, ACCEPTS = "connections", "requests", "origin-connections", "accepts"
"""What may run out; `ACCEPTS`: the system had no descriptor for a new connection."""
_OUT_OF_RESOURCE = "socket.accept() out of system resource"
"""What asyncio says of it, a hundred times in a turn of its loop."""


class Shortage:
    """Counts refusals by what there was too much of."""

    def __init__(self, limit: int, now: Callable[[], float], count: Callable[[str], None] = lambda _: None) -> None:
        """`limit`: of descriptors, for the message. `now`: the monotonic clock. `count`: for the metric."""
        self._limit = limit
        self._now = now
        self._count = count
        self._unlogged: Counter[str] = Counter()
        self._logged_s: float | None = None
        self._last_s: float | None = None

    def refused(self, what: str) -> None:
        """Count a refusal."""
        self._unlogged[what] += 1
        self._count(what)
        self._last_s = self._now()
        self.log_counts()

    def log_counts(self) -> None:
        """Log what was not logged yet, if the last line is a minute old. To be called now and then."""
        now_s = self._now()
        if not self._unlogged or (self._logged_s is not None and now_s - self._logged_s < LOG_EVERY_S):
            return
        counts = ", ".join(f"{number} {what}" for what, number in sorted(self._unlogged.items()))
        logger.warning(
            "refused at a limit since the last such line: %s (limit of file descriptors: %d)", counts, self._limit
        )
        self._unlogged.clear()
        self._logged_s = now_s

    @property
    def holds(self) -> bool:
        """Whether anything was refused within the last minute."""
        return self._last_s is not None and self._now() - self._last_s < LOG_EVERY_S

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count what asyncio would log of connections that it cannot accept."""
        before = loop.get_exception_handler()

        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if context.get("message") == _OUT_OF_RESOURCE:
                self.refused(ACCEPTS)
            elif before is not None:
                before(loop, context)
            else:
                loop.default_exception_handler(context)

        loop.set_exception_handler(handle)
