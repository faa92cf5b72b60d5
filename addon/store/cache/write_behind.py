"""Write-behind: pending entries are written in batches; reconnects to the backend while it is down."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

from bestbefore.addon.store.backend.interface import Backend, StoreInputError, UnavailableError, UnwritableError
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices, log

GATHER_S = 0.2
"""How long entries are gathered for a batch. With the time of the write, this is what a killed proxy loses."""
PEERS_GATHER_S = 0.04
"""The same for one of several processes, whose copies the others are to find soon."""
IDLE_S = 5.0
"""The longest wait of entries that are not urgent: the counts of requests."""
RETRY_FIRST_S, RETRY_LONGEST_S = 0.1, 2.0
"""How long to wait before the next attempt to connect: doubled each time."""
CLOSE_S = 5.0
"""How long a clean stop waits for pending entries."""
LATE_S = 10.0
"""How long entries may be pending without a successful write before that is reported. A round of writes takes place at
least every `IDLE_S`."""
SETTLED_S = 5.0
"""How long the store must have refused nothing before it is logged that it accepts writes again: a full one may refuse
some and accept others."""


class Part(Protocol):
    """A part of the store that is written behind."""

    @property
    def waiting(self) -> int:
        """The number of pending entries."""

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the entries pending now is still pending."""

    async def write(self, backend: Backend) -> None:
        """Write a batch; an entry that cannot be written even alone is dropped and counted.

        Raises UnavailableError, UnwritableError; the entries remain pending then, as after any other exception.
        """


class WriteBehind:
    """The only task that writes. Parts are written in the order given: removals before additions."""

    def __init__(
        self,
        link: Link,
        notices: Notices,
        faults: Faults,
        monotonic: Callable[[], float],
        parts: Sequence[Part],
        connect: Callable[[], Awaitable[None]],
        read_due: Callable[[], Awaitable[None]],
        *,
        has_peers: bool = False,
    ) -> None:
        """`connect` connects to the backend, and reads what was missed. `read_due` reads due data between writes.

        `has_peers`: other processes wait for what is written.
        """
        self._has_peers = has_peers
        self._link = link
        self._notices = notices
        self._faults = faults
        self._monotonic = monotonic
        self._success_s = monotonic()
        """The time of the last round of writes without an error."""
        self._parts = parts
        self._connect = connect
        self._read_due = read_due
        self._pause_s = RETRY_FIRST_S
        """The next pause, s. Only a successful write resets it, not a mere connection."""
        self.refusal: UnwritableError | None = None
        """The error if the backend refused the last write; else None."""
        self._refused_s = 0.0
        """When it did so last, by the monotonic clock."""
        self.writing = asyncio.Lock()
        """Locked during each write."""
        self._task: asyncio.Task[None] | None = None

    @property
    def lag_s(self) -> float:
        """How long entries are pending without a successful write, s; 0 if not longer than usual."""
        lag_s = self._monotonic() - self._success_s
        return lag_s if lag_s > LATE_S and any(part.waiting for part in self._parts) else 0.0

    async def start(self) -> None:
        """Connect; after a failure, try again in the background. Raises StoreInputError."""
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
            except Exception:  # a bug must not end the task
                log.exception("the store could not be written to: this is a bug in bestbefore")
                await asyncio.sleep(RETRY_LONGEST_S)
                self._link.wake()

    async def _turn(self) -> None:
        if self._link.down:
            await self._reconnect()
            return
        if await _wait_for(self._link.work, IDLE_S):
            await _wait_for(self._link.hurry, PEERS_GATHER_S if self._has_peers else GATHER_S)
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
        except StoreInputError as e:  # it was down at the start, or is another server now
            self._notices.begin("unusable", f"{e}; continuing without a store")
        if self._link.down:
            await self._pause()
        else:
            self._notices.end("unusable", "the store is usable now")

    async def _write_round(self) -> bool:
        """Write a batch of each part; False after an error."""
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
                except Exception as e:  # the other parts must still be written
                    failed = True
                    self._failed(e)
            if self.refusal is not None:
                self._refused_s = self._monotonic()
                self._notices.begin("unwritable", f"the store refuses to write ({self.refusal}); what was learnt waits")
            elif not self._link.down and self._monotonic() - self._refused_s >= SETTLED_S:
                self._notices.end("unwritable", "the store accepts writes again")
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
        """Write all entries pending now, but not later ones; False if that failed."""
        async with self.writing:  # entries being written are pending too
            waiting = [part.snapshot() for part in self._parts]
        while any(still() for still in waiting):
            if not await self._write_round():
                return False
        return not self._link.down

    async def close(self) -> None:
        """Write pending entries, waiting a moment for a backend that is down; then stop."""
        if self._task is not None:
            async with self.writing:  # not during a batch
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
    """Return a function that tells whether any item is pending. It does not test an item again that is not."""

    def still() -> bool:
        while items and not waits(items[-1]):
            items.pop()
        return bool(items)

    return still
