"""Signals that no contact has judged yet, and changes that a later signal may still announce."""

import math
from typing import NamedTuple

from cachetools import LRUCache

from bestbefore.addon.engine.signals.evidence import SOURCES_KEPT, SignalEvidence, SignalSource

PENDING_KEPT = 65_536
"""How many signals wait for a contact."""
CHANGES_KEPT = 16_384
"""How many changes wait for the next reading of the sitemap that should announce them."""


class SignalVerdict(NamedTuple):
    """What a contact has shown of a signal."""

    source: SignalSource
    is_right: bool | None
    """None: nothing."""


class PendingSignal(NamedTuple):
    """A signal that no contact has judged."""

    source: SignalSource
    at_s: float | None
    """When the object changed, if that is known."""
    since_s: float
    """When the signal came."""
    may_be_known: bool
    """Whether it may announce a change that a contact had found before it came."""
    is_overtaken: bool = False
    """Whether a contact that had begun before it has ended since."""


class SignalBook:
    """The evidence of all sources, and what is still to be judged. Bounded in each part."""

    def __init__(self) -> None:
        self.evidence: LRUCache[SignalSource, SignalEvidence] = LRUCache(SOURCES_KEPT)
        self.unwritten: dict[SignalSource, SignalEvidence] = {}
        """What was added since the last `take_unwritten`."""
        self._pending: LRUCache[str, PendingSignal] = LRUCache(PENDING_KEPT)
        """By URL."""
        self._changes: LRUCache[str, tuple[str, float]] = LRUCache(CHANGES_KEPT)
        """By URL: the sitemap that should announce a change, and since when that lies."""

    def of(self, source: SignalSource) -> SignalEvidence:
        """Return the evidence of a source."""
        return self.evidence.get(source) or SignalEvidence()

    def signalled(
        self, url: str, source: SignalSource, at_s: float | None, now_s: float, *, may_be_known: bool = False
    ) -> None:
        """Record a signal, which a later contact of its object judges.

        `at_s`: when the object changed, if known. `may_be_known`: whether a contact may have found that change already,
        so that one that finds none does not make it wrong.
        """
        self._pending[url] = PendingSignal(source, at_s, now_s, may_be_known)
        self._changes.pop(url, None)

    def announced_s(self, url: str) -> float | None:
        """Return when an object has changed, by a signal that no contact has judged; None if that is not known."""
        pending = self._pending.get(url)
        return None if pending is None or self.of(pending.source).is_dropped else pending.at_s

    def pending(self, url: str) -> PendingSignal | None:
        """Return the signal of an object that no contact has judged; None if there is none."""
        return self._pending.get(url)

    def overtaken(self, url: str) -> bool:
        """Note that a contact has ended that does not judge the pending signal; whether it is the first one."""
        found = self._pending.get(url)
        if found is None or found.is_overtaken:
            return False
        self._pending[url] = found._replace(is_overtaken=True)
        return True

    def contacted(
        self, url: str, contact_s: float, *, changed: bool | None, chance: float = 0.0, update_s: float = -math.inf
    ) -> SignalVerdict | None:
        """Judge the pending signal of an object by a contact; return the verdict, None if there is none.

        A contact as of `contact_s` that shows no change, or not whether there was one, does not judge a later signal,
        which waits for the next one. `chance`: the probability of a change without any signal. `update_s`: when the
        last update was found. If that was later than the signal, to the second of Date, another process has judged it.
        """
        pending = self._pending.get(url)
        if pending is None or (not changed and contact_s < pending.since_s):
            return None
        del self._pending[url]
        named_s = pending.since_s if pending.at_s is None else pending.at_s
        if changed is None or (not changed and (pending.may_be_known or update_s > named_s - 1.0)):
            return SignalVerdict(pending.source, None)
        self._add(pending.source, SignalEvidence.judged(changed=changed, chance=chance))
        return SignalVerdict(pending.source, changed)

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
