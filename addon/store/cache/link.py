"""The link to the backend: whether it is up, and reads that do not wait while it is down."""

import asyncio
from collections.abc import Awaitable, Callable

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, BusyError, CommandError, UnavailableError, UnwritableError
from bestbefore.addon.store.cache.notices import Notices, log


class Link:
    """The link to the backend, and the events that wake the write-behind task. It is down at the start."""

    def __init__(self, backend: Backend, clock: Clock, notices: Notices) -> None:
        self.backend = backend
        self.down_since_s: float | None = clock.monotonic()
        """Since when the backend is down, by the monotonic clock; None while it is up."""
        self.last_error = ""
        """Why it did not answer the last time; empty if it always has."""
        self.up = asyncio.Event()
        """Set while the backend is up."""
        self.work = asyncio.Event()
        """Set when there are pending entries, or a reconnect is due."""
        self.hurry = asyncio.Event()
        """Set when many entries are pending."""
        self.on_down: list[Callable[[], None]] = []
        """Called when the backend goes down."""
        self._clock = clock
        self._notices = notices

    @property
    def down(self) -> bool:
        return self.down_since_s is not None

    def mark_up(self) -> None:
        """Mark the backend as up."""
        self.down_since_s = None
        self.up.set()
        self.wake()
        self._notices.end("down", "the store is up again; what was learnt meanwhile is being written to it")

    def mark_down(self, error: UnavailableError) -> None:
        """Mark the backend as down, unless only no connection to it was free."""
        if isinstance(error, BusyError):
            log.debug("%s", error)
            return
        self.last_error = str(error)
        if self.down_since_s is None:
            self.down_since_s = self._clock.monotonic()
            for call in self.on_down:
                call()
        self.up.clear()
        self.wake()
        self._notices.begin("down", f"the store is down ({error}); serving and learning in memory until it is up again")

    def wake(self, *, hurry: bool = False) -> None:
        """Wake the write-behind task; with `hurry` it does not wait for further entries."""
        self.work.set()
        if hurry:
            self.hurry.set()

    async def read[T](self, ask: Callable[[Backend], Awaitable[T]]) -> T | None:
        """Return the result of a read; None at once if the backend is down, and if this one read fails."""
        if self.down:
            return None
        try:
            return await ask(self.backend)
        except UnavailableError as e:
            self.mark_down(e)
        except UnwritableError as e:  # even reads are refused
            self.mark_down(UnavailableError(str(e)))
        except CommandError as e:
            log.debug("not read from the store: %s", e)
        return None
