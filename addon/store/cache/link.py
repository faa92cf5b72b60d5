"""Whether the backend answers now, and reads that do not wait for one that does not."""

import asyncio
from collections.abc import Awaitable, Callable

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, CommandError, UnavailableError, UnwritableError
from bestbefore.addon.store.cache.notices import Notices, log


class Link:
    """The backend, as long as it answers, and how the task that writes behind is woken. It starts away."""

    def __init__(self, backend: Backend, clock: Clock, notices: Notices) -> None:
        self.backend = backend
        self.down_since_s: float | None = clock.monotonic()
        """By the monotonic clock; None while it answers."""
        self.last_error = ""
        """Why it did not answer the last time; empty if there was no such time."""
        self.up = asyncio.Event()
        """Set while it answers."""
        self.work = asyncio.Event()
        """Set when something waits to be written, or the backend is to be looked for."""
        self.hurry = asyncio.Event()
        """Set when much waits."""
        self._clock = clock
        self._notices = notices

    @property
    def down(self) -> bool:
        return self.down_since_s is not None

    def mark_up(self) -> None:
        """Note that the backend answers."""
        self.down_since_s = None
        self.up.set()
        self.wake()
        self._notices.ended("down", "the store is up again; what was learnt meanwhile is being written to it")

    def mark_down(self, error: UnavailableError) -> None:
        """Note that the backend does not answer."""
        self.last_error = str(error)
        if self.down_since_s is None:
            self.down_since_s = self._clock.monotonic()
        self.up.clear()
        self.wake()
        self._notices.holds("down", f"the store is down ({error}); serving and learning in memory until it is up again")

    def wake(self, *, hurry: bool = False) -> None:
        """Wake the writer; with `hurry` before more has gathered."""
        self.work.set()
        if hurry:
            self.hurry.set()

    async def read[T](self, ask: Callable[[Backend], Awaitable[T]]) -> T | None:
        """Return what the backend answers; None at once if it is down, and if it cannot read this one thing."""
        if self.down:
            return None
        try:
            return await ask(self.backend)
        except UnavailableError as e:
            self.mark_down(e)
        except UnwritableError as e:  # not even a read is allowed
            self.mark_down(UnavailableError(str(e)))
        except CommandError as e:
            log.debug("not read from the store: %s", e)
        return None
