"""The interface of a scheduler: events in, the next item out."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Self

from bestbefore.policies.dissemination.audience import Audience


class Scheduler(ABC):
    """A rule that chooses the item to send next, from who waits for what.

    A scheduler is made with an audience without clients, and all events go through the scheduler from then on. Its
    state follows each event, so that `choose` looks at the best candidates only. Times are seconds and never go back;
    no scheduler reads a clock or draws at random.

    The shell's loop: report changes and clients as they come; when the channel is free, `choose`, send the item as it
    is at that moment, and report it as `sent` when it has arrived. A page that changes while it is sent is stale at
    arrival: the shell reports such a change after `sent`.
    """

    name: ClassVar[str]
    """The name in options, configuration and reports."""

    def __init__(self, audience: Audience) -> None:
        self.audience = audience

    @classmethod
    def with_intervals(cls, audience: Audience, intervals_s: Sequence[float]) -> Self:  # noqa: ARG003 (a rule may)
        """Make one for items whose mean times between changes are known; a rule that needs no times ignores them."""
        return cls(audience)

    def subscribe(
        self, client: int, items: Collection[int], time_s: float, *, held: Collection[int] = frozenset()
    ) -> None:
        """A new client wants the items and each of their changes; see `Audience.subscribe`."""
        self.audience.subscribe(client, items, time_s, held=held)
        for item in items:
            self._rank(item)

    def download(self, client: int, items: Collection[int], time_s: float) -> None:
        """A new client wants one copy of each item."""
        self.audience.download(client, items, time_s)
        for item in items:
            self._rank(item)

    def leave(self, client: int) -> None:
        """A client wants nothing more. A downloader that has everything leaves by `sent`."""
        for item in self.audience.leave(client):
            self._rank(item)

    def changed(self, item: int, time_s: float, page: int = 0) -> None:
        """A page of an item changed at its source; a page that is stale already may change again."""
        if self.audience.changed(item, time_s, page):
            self._rank(item)

    def sent(self, item: int, time_s: float) -> list[int]:  # noqa: ARG002 (a rule may need the time)
        """An item reached all clients at `time_s`; the downloaders that have everything by it, and are removed."""
        complete = self.audience.sent(item)
        self._rank(item)
        return complete

    @abstractmethod
    def choose(self, time_s: float) -> int | None:
        """The item to send next; None if no client waits for any. Changes nothing that a later choice depends on."""

    @abstractmethod
    def _rank(self, item: int) -> None:
        """R of an item may have changed, from or to 0 too."""
