"""What a hub's channel covers, the same for all workers: one reads the channel and passes on what it has read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bestbefore.addon.engine.channel.coverage import Coverage


@dataclass(frozen=True, slots=True)
class Covered:
    """What was read of a channel, once it is in the store. News of workers."""

    coverage: Coverage | None
    """None: no copy is taken for current."""
    changed: Sequence[str | None] = ()
    """The URLs whose copies the channel has changed since the last news; with None among them, any may be changed."""


class ChannelCoverage:
    """The coverage of this worker."""

    def __init__(self, pass_on: Callable[[Covered], object] = lambda _: None) -> None:
        """`pass_on` is called with what other workers must know too, which they `receive`."""
        self._pass_on = pass_on
        self._apply: Callable[[Coverage | None], object] = lambda _: None
        self._leave_memory: Callable[[str | None], object] = lambda _: None
        self._coverage: Coverage | None = None

    def start(
        self, apply: Callable[[Coverage | None], object], leave_memory: Callable[[str | None], object]
    ) -> None:
        """Apply what was received, and is received from now on.

        `apply` takes a coverage for the next decisions, `leave_memory` lets the copies of a URL, or all, be read again.
        """
        self._apply, self._leave_memory = apply, leave_memory
        apply(self._coverage)

    def cover(self, coverage: Coverage | None) -> None:
        """Take what this worker has read of the channel."""
        self._coverage = coverage
        self._apply(coverage)

    def pass_on(self, changed: Sequence[str | None]) -> None:
        """Pass on what this worker has read, once the changed copies are in the store."""
        self._pass_on(Covered(self._coverage, changed))

    def receive(self, news: Covered) -> None:
        """Take what another worker has read: changed copies are read again before anything is taken for current."""
        for url in news.changed:
            self._leave_memory(url)
        self.cover(news.coverage)
