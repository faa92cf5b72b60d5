"""Sums that are written to the store in batches, where they are added to those of other processes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from bestbefore.addon.store.cache.faults import write_each

WRITTEN_EVERY_S = 5.0
"""How often a batch is written while requests go on, s: each key in it costs a script."""


@dataclass(slots=True, eq=False)
class PendingSums[K, V]:
    """The pending sums by key. A batch whose reply is lost is written again, and so counts twice."""

    monotonic: Callable[[], float]
    most: int
    """For how many keys sums may be pending; beyond it only these are continued."""
    joined: Callable[[V, V], V]
    """The sum of two, the earlier first."""
    by_key: dict[K, V] = field(init=False, default_factory=dict)
    _due_s: float = field(init=False, default=0.0)
    """When the next batch is due, by the monotonic clock."""
    _batches: int = field(init=False, default=0)
    """The number of batches begun."""
    _written: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set while no batch is being written."""

    def __post_init__(self) -> None:
        self._written.set()

    def has_room(self, key: K) -> bool:
        """Return whether a sum for a key may be added."""
        return key in self.by_key or len(self.by_key) < self.most

    async def beside[T](self, read: Callable[[], Awaitable[T]]) -> T:
        """Return what is read from the store at a moment when the pending sums are not in it."""
        while True:
            await self._written.wait()
            batches = self._batches
            stored = await read()
            if batches == self._batches:  # else what was pending may be in what was read, or not
                return stored

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any sum pending now is still pending. They become due at once."""
        self._due_s = 0.0
        pending = self.by_key
        return lambda: self.by_key is pending and bool(pending)

    async def write(
        self, send: Callable[[dict[K, V]], Awaitable[None]], failed: Callable[[K, Exception], None]
    ) -> None:
        """Write all that is pending, if it is due. Raises UnavailableError, UnwritableError; it remains pending then.

        `failed` is called with what cannot be written, which is dropped.
        """
        now_s = self.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + WRITTEN_EVERY_S
        batch, self.by_key = self.by_key, {}
        self._batches += 1
        self._written.clear()
        try:
            for (key, _), error in await write_each(list(batch.items()), lambda part: send(dict(part))):
                failed(key, error)
        except BaseException:
            self._restore(batch.items())
            raise
        finally:
            self._written.set()

    def _restore(self, batch: Iterable[tuple[K, V]]) -> None:
        later, self.by_key = self.by_key, dict(batch)
        for key, value in later.items():
            self.by_key[key] = self.joined(self.by_key[key], value) if key in self.by_key else value
