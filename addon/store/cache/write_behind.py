"""Writing behind: what waits is written in batches, and the backend is looked for while it is away."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

from bestbefore.addon.store.backend.interface import Backend, StoreInputError, UnavailableError, UnwritableError
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices, log

GATHER_S = 0.2
"""How long a batch gathers: with the time that its write takes, what is lost when the proxy is killed."""
IDLE_S = 5.0
"""What need not be written soon, the counts of requests, waits no longer than this."""
RETRY_FIRST_S, RETRY_LONGEST_S = 0.1, 2.0
"""How long to wait before the backend is tried again: doubled each time."""
CLOSE_S = 5.0
"""How long a clean stop waits for what is not written yet."""
LATE_S = 10.0
"""For how long something may wait with no success in writing, until that is reported as a failure. A round without any
is done every `IDLE_S`."""


class Part(Protocol):
    """A part of the store that is written behind."""

    @property
    def waiting(self) -> int:
        """The number of entries that wait to be written."""

    def snapshot(self) -> Callable[[], bool]:
        """Return a test whether any of what waits now waits still."""

    async def write(self, backend: Backend) -> None:
        """Write a batch; an entry that cannot be written even alone is dropped and counted.

        Raises UnavailableError, UnwritableError: it waits on then. So it does after any other error, a fault of
        ours.
        """


class WriteBehind:
    """The one task that writes. Each kind is written in the order given: what removes comes before what adds."""

    def __init__(
        self,
        link: Link,
        notices: Notices,
        faults: Faults,
        monotonic: Callable[[], float],
        parts: Sequence[Part],
        connect: Callable[[], Awaitable[None]],
        read_due: Callable[[], Awaitable[None]],
    ) -> None:
        """`connect`: reach the backend, and take from it what was missed. `read_due`: what is read between writes."""
        self._link = link
        self._notices = notices
        self._faults = faults
        self._monotonic = monotonic
        self._success_s = monotonic()
        """When all that was tried was last written."""
        self._parts = parts
        self._connect = connect
        self._read_due = read_due
        self._pause_s = RETRY_FIRST_S
        """The next pause. It shrinks when something was written: that it can be connected to is not enough."""
        self.refusal: UnwritableError | None = None
        """Why the backend refused to write the last time; None if it did not."""
        self.writing = asyncio.Lock()
        """Held while anything is being written."""
        self._task: asyncio.Task[None] | None = None

    @property
    def lag_s(self) -> float:
        """Seconds for which something has waited without a successful write; 0 while that is no longer than usual."""
        lag_s = self._monotonic() - self._success_s
        return lag_s if lag_s > LATE_S and any(part.waiting for part in self._parts) else 0.0

    async def start(self) -> None:
        """Connect; without success go on, and try again in the background. Raises StoreInputError."""
        await self._try_to_connect()
        self._task = asyncio.create_task(self._run())

    async def _try_to_connect(self) -> None:
        try:
            await self._connect()
        except UnavailableError as e:
            self._link.mark_down(e)
        else:
            self._link.mark_up()

    async def _run(self) -> None:
        while True:
            try:
                await self._turn()
            except Exception:  # a bug must not be the end of all writing
                log.exception("the store could not be written to: this is a bug in bestbefore")
                await asyncio.sleep(RETRY_LONGEST_S)
                self._link.wake()

    async def _turn(self) -> None:
        if self._link.down:
            await self._reconnect()
            return
        if await _wait_for(self._link.work, IDLE_S):
            await _wait_for(self._link.hurry, GATHER_S)
        self._link.hurry.clear()
        self._link.work.clear()
        if not await self._write_round():
            await self._pause()
            self._link.wake()
            return
        self._pause_s = RETRY_FIRST_S
        if any(part.waiting for part in self._parts):
            self._link.wake()

    async def _pause(self) -> None:
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, RETRY_LONGEST_S)

    async def _reconnect(self) -> None:
        try:
            await self._try_to_connect()
        except StoreInputError as e:  # it was away at the start, or is another server now
            self._notices.holds("unusable", f"{e}; continuing without a store")
        if self._link.down:
            await self._pause()
        else:
            self._notices.ended("unusable", "the store is usable now")

    async def _write_round(self) -> bool:
        """Write a batch of each kind. Whether all went well."""
        async with self.writing:
            self.refusal = None
            failed = False
            for part in self._parts:
                try:
                    if part.waiting and not self._link.down:
                        await part.write(self._link.backend)
                except UnavailableError as e:
                    self._link.mark_down(e)
                except UnwritableError as e:
                    self.refusal = e
                except Exception as e:  # it must not keep the other parts from being written
                    failed = True
                    self._failed(e)
            if self.refusal is not None:
                self._notices.holds("unwritable", f"the store refuses to write ({self.refusal}); what was learnt waits")
            elif not self._link.down:
                self._notices.ended("unwritable", "the store accepts writes again")
            try:
                await self._read_due()
            except Exception as e:
                failed = True
                self._failed(e)
            if self.refusal is not None or self._link.down or failed:
                return False
            self._success_s = self._monotonic()
            return True

    def _failed(self, error: Exception) -> None:
        self._faults.add("fault", "the store could not be written to: this is a bug in bestbefore", error=error)

    async def flush(self) -> bool:
        """Write all that waits now, whatever comes meanwhile; whether that could be done."""
        async with self.writing:  # what is being written waits, too
            waiting = [part.snapshot() for part in self._parts]
        while any(still() for still in waiting):
            if not await self._write_round():
                return False
        return not self._link.down

    async def close(self) -> None:
        """Write what waits, for which an absent backend is given a moment to come back; and stop."""
        if self._task is not None:
            async with self.writing:  # not in the middle of a batch
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(TimeoutError, StoreInputError):
            async with asyncio.timeout(CLOSE_S):
                while any(part.waiting for part in self._parts):
                    if await self.flush():
                        continue
                    await asyncio.sleep(RETRY_FIRST_S)
                    if self._link.down:
                        await self._try_to_connect()


async def _wait_for(event: asyncio.Event, within_s: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()
    return event.is_set()


def any_of[T](items: list[T], waits: Callable[[T], bool]) -> Callable[[], bool]:
    """Return a test whether any of the items waits. Each is asked about until it does not, once in all."""

    def still() -> bool:
        while items and not waits(items[-1]):
            items.pop()
        return bool(items)

    return still
