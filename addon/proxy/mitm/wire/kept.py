"""The answers to the last requests on one connection, for the same requests again."""

from bestbefore.addon.proxy.exchange.answer import Repeatable

KEPT_BYTES = 64 * 1024
"""How many bytes are kept for one connection."""


class KeptAnswers[K, V]:
    """What is sent for the last requests, by what was received, as long as `Repeatable.begin` allows it.

    Only for requests between which the client has sent nothing else: the owner calls `forget` when it has.
    """

    def __init__(self) -> None:
        self._kept: dict[K, tuple[Repeatable, V]] = {}
        self._bytes = 0

    def get(self, received: K) -> tuple[Repeatable, V] | None:
        """Return what is sent for this, if it is still the answer; its `finish` must be called then."""
        kept = self._kept.get(received)
        return kept if kept is not None and kept[0].begin() else None

    def keep(self, received: K, repeat: Repeatable, sent: V, size: int) -> None:
        """Keep an answer of `size` bytes. If there is no room, those before it are forgotten; then a large one too."""
        if received not in self._kept:
            self._bytes += size
        if self._bytes > KEPT_BYTES:
            self._kept, self._bytes = {}, size
        if size <= KEPT_BYTES:
            self._kept[received] = repeat, sent

    def forget(self) -> None:
        """Forget all."""
        if self._kept:
            self._kept, self._bytes = {}, 0
