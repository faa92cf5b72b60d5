"""The answers to the last requests, for the same requests again: on one connection, or by one sender."""

from collections.abc import Hashable
from typing import Any

from bestbefore.addon.proxy.exchange.answer import Repeatable

KEPT_BYTES = 256 * 1024
"""How much is kept for one connection."""
ROOM_BYTES = 16 * 1024 * 1024
"""How much is kept for all connections of a process."""
ENTRY_BYTES = 2048
"""The approximate size of an answer besides what is sent."""


class KeptRoom:
    """The room for the answers of all connections. Those that have kept nothing for longest give way."""

    def __init__(self, most: int = ROOM_BYTES) -> None:
        self._most = most
        self._used: dict[KeptAnswers[Any, Any], int] = {}
        self.used_bytes = 0

    def take(self, size: int, by: "KeptAnswers[Any, Any]") -> None:
        """Note that so much more, of at most `KEPT_BYTES` in all, is kept for a connection."""
        self._used[by] = self._used.pop(by, 0) + size
        self.used_bytes += size
        while self.used_bytes > self._most and len(self._used) > 1:
            next(iter(self._used)).forget()

    def release(self, by: "KeptAnswers[Any, Any]") -> None:
        """Note that nothing is kept for a connection any more."""
        self.used_bytes -= self._used.pop(by, 0)


class KeptAnswers[K, V]:
    """What is sent for the last requests, by what was received, as long as `Repeatable.begin` allows it.

    Only for requests between which the client has sent nothing else: the owner calls `forget` when it has.
    """

    def __init__(self, room: KeptRoom) -> None:
        self._room = room
        self._kept: dict[K, tuple[Repeatable, V]] = {}
        self._bytes = 0

    def get(self, received: K) -> tuple[Repeatable, V] | None:
        """Return what is sent for this, if it is still the answer; its `finish` must be called then."""
        kept = self._kept.get(received)
        return kept if kept is not None and kept[0].begin() else None

    def keep(self, received: K, repeat: Repeatable, sent: V, size: int) -> None:
        """Keep an answer of `size` bytes, if there is room for one so large. If need be, those before are forgotten."""
        size += ENTRY_BYTES
        if received in self._kept or self._bytes + size > KEPT_BYTES:  # what it replaces may have had another size
            self.forget()
        if size <= KEPT_BYTES:
            self._kept[received] = repeat, sent
            self._bytes += size
            self._room.take(size, self)

    def forget(self) -> None:
        """Forget all."""
        if self._kept:
            self._kept, self._bytes = {}, 0
            self._room.release(self)


class SharedAnswers[V]:
    """What is sent for the last requests of all connections, by their sender and what was received.

    Only for requests whose answers depend on nothing else that a connection has sent. Those kept for longest give way.
    """

    def __init__(self, most: int = ROOM_BYTES) -> None:
        """`most`: how many bytes may be kept."""
        self._most = most
        self._kept: dict[tuple[Hashable, bytes], tuple[Repeatable, V, int]] = {}
        self.used_bytes = 0

    def get(self, sender: Hashable, received: bytes) -> V | None:
        """Return what is sent for this, if it is still the answer; its `finish` must be called then."""
        kept = self._kept.get((sender, received))
        return kept[1] if kept is not None and kept[0].begin() else None

    def keep(self, sender: Hashable, received: bytes, repeat: Repeatable, sent: V, size: int) -> None:
        """Keep an answer of `size` bytes, in place of that which was kept for the same before."""
        key, size = (sender, received), size + len(received) + ENTRY_BYTES
        self._drop(key)
        if size > self._most:
            return
        self._kept[key] = repeat, sent, size
        self.used_bytes += size
        while self.used_bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[Hashable, bytes]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.used_bytes -= kept[2]
