"""Which objects have another content in the store than other workers and proxies may have in memory."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replaced:
    """The objects whose copies were replaced in the store by others with another content. Announced to workers."""

    urls: Collection[str]


class Replacements:
    """Announces replaced copies once they are written, so that no worker goes on serving what it has in memory.

    A copy that is new to the store needs none, nor one that was only validated: others look into the store before they
    contact an origin.
    """

    def __init__(self) -> None:
        self.pass_on: Callable[[Replaced], object] = lambda _: None
        """Announces them to the other workers."""
        self._pending: set[str] = set()
        """The objects of which a copy that replaces another is pending."""

    def __contains__(self, url: str) -> bool:
        return url in self._pending

    def add(self, url: str) -> None:
        """Note that a copy which replaces another waits to be written."""
        self._pending.add(url)

    def discard(self, url: str) -> None:
        """Note that no copy of an object waits any more."""
        self._pending.discard(url)

    def among(self, urls: Iterable[str]) -> Collection[str]:
        """Return those of these objects of which such a copy is pending."""
        return self._pending.intersection(urls)

    def announce(self, urls: Collection[str]) -> None:
        """Announce objects whose copies are written."""
        if urls:
            self.pass_on(Replaced(tuple(urls)))
