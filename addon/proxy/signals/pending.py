"""Signals that no contact has judged yet, and changes that a later signal may still announce."""

import math

from cachetools import LRUCache

from bestbefore.addon.engine.signals.evidence import SOURCES_KEPT, SignalEvidence, SignalSource

PENDING_KEPT = 65_536
"""How many signals wait for a contact."""
CHANGES_KEPT = 16_384
"""How many changes wait for the next reading of the sitemap that should announce them."""


class SignalBook:
    """The evidence of all sources, and what is still to be judged. Bounded in each part."""

    def __init__(self) -> None:
        self.evidence: LRUCache[SignalSource, SignalEvidence] = LRUCache(SOURCES_KEPT)
        self.unwritten: dict[SignalSource, SignalEvidence] = {}
        """What was added since the last `take_unwritten`."""
        self._pending: LRUCache[str, tuple[SignalSource, float | None]] = LRUCache(PENDING_KEPT)
        """By URL: where it comes from, and the time of the update if it is known."""
        self._changes: LRUCache[str, tuple[str, float]] = LRUCache(CHANGES_KEPT)
        """By URL: the sitemap that should announce a change, and since when that lies."""

    def of(self, source: SignalSource) -> SignalEvidence:
        """Return the evidence of a source."""
        return self.evidence.get(source) or SignalEvidence()

    def signalled(self, url: str, source: SignalSource, at_s: float | None) -> None:
        """Record a signal, which the next contact of its object judges; `at_s`: when the object changed, if known."""
        self._pending[url] = source, at_s
        self._changes.pop(url, None)

    def announced_s(self, url: str) -> float | None:
        """Return when an object has changed, by a signal that no contact has judged; None if that is not known."""
        source, at_s = self._pending.get(url, (None, None))
        return None if source is None or self.of(source).is_dropped else at_s

    def contacted(
        self, url: str, *, changed: bool | None, chance: float = 0.0, update_s: float = -math.inf
    ) -> SignalSource | None:
        """Judge the pending signal of an object by a contact; return its source, None if there was none.

        `chance`: the probability of a change without any signal. `update_s`: when the last
        update was found. If that was later than the signal, to the second of Date, another process has judged it.
        """
        source, at_s = self._pending.pop(url, (None, None))
        is_judged = at_s is not None and update_s > at_s - 1.0 and not changed
        if source is not None and changed is not None and not is_judged:
            self._add(source, SignalEvidence.judged(changed=changed, chance=chance))
        return source

    def unannounced(self, url: str, listing: str, after_s: float) -> None:
        """Record a change later than `after_s` that its sitemap has not announced yet."""
        self._changes[url] = (listing, after_s)

    def awaited(self, listing: str) -> list[tuple[str, float]]:
        """Remove and return the changes that this reading of a sitemap should announce: URL, since when."""
        found = [(url, after_s) for url, (name, after_s) in self._changes.items() if name == listing]
        for url, _ in found:
            del self._changes[url]
        return found

    def recalled(self, source: SignalSource, *, announced: bool) -> None:
        """Count a change that was found before any signal, by whether the next reading announced it."""
        self._add(source, SignalEvidence(right=1.0, expected=1.0) if announced else SignalEvidence(missed=1.0))

    def take_unwritten(self) -> dict[SignalSource, SignalEvidence]:
        """Return what was added since the last call."""
        taken, self.unwritten = self.unwritten, {}
        return taken

    def load(self, evidence: dict[SignalSource, SignalEvidence]) -> None:
        """Take over the sums of all processes, to which only what is unwritten here is added."""
        for source, sums in evidence.items():
            self.evidence[source] = sums.plus(self.unwritten.get(source, SignalEvidence()))

    def forget(self, site: str) -> None:
        """Remove all that is known of a site."""
        for source in [source for source in self.evidence if source.site == site]:
            del self.evidence[source]
            self.unwritten.pop(source, None)

    def _add(self, source: SignalSource, more: SignalEvidence) -> None:
        self.evidence[source] = self.of(source).plus(more)
        if source in self.unwritten or len(self.unwritten) < SOURCES_KEPT:
            self.unwritten[source] = self.unwritten.get(source, SignalEvidence()).plus(more)
