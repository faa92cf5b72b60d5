"""The index of copies that their origins allow as compression dictionaries (RFC 9842)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cachetools import LRUCache

from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate, selected
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target

ORIGINS_KEPT = 512
"""For how many origins a worker has the candidates in memory."""
CANDIDATES_KEPT = 32
"""How many candidates of one origin are indexed, the latest."""
READ_AGAIN_S = 60.0
"""After how many real seconds those of an origin are read from the backend again."""


@dataclass(slots=True)
class _Origin:
    """The candidates of one origin, by URL."""

    candidates: dict[str, DictionaryCandidate] = field(default_factory=dict)
    read_at_s: float | None = None
    """By the monotonic clock; None: not yet."""


class DictionaryIndex:
    """The copies that may be dictionaries, by origin. It only proposes: its user checks the copy itself."""

    def __init__(self) -> None:
        self._origins: LRUCache[str, _Origin] = LRUCache(ORIGINS_KEPT)

    def add(self, copy: Copy) -> None:
        """Add a copy, if its origin allows that it is a dictionary."""
        candidate = DictionaryCandidate.of(copy)
        if candidate is not None:
            self._put(Target.parse(copy.url).origin, [candidate])

    def is_due(self, origin: str, now_s: float) -> bool:
        """Whether the candidates of an origin must be read from the backend. `now_s`: by the monotonic clock."""
        known = self._origins.get(origin)
        return known is None or known.read_at_s is None or known.read_at_s < now_s - READ_AGAIN_S

    def read(self, origin: str, found: Iterable[DictionaryCandidate], now_s: float) -> None:
        """Add the candidates of an origin that the backend has."""
        self._put(origin, found).read_at_s = now_s

    def find(self, target: Target) -> list[str]:
        """Return the URLs of the candidates for a target, by precedence."""
        known = self._origins.get(target.origin)
        return [] if known is None else [one.url for one in selected(known.candidates.values(), target)]

    def _put(self, origin: str, candidates: Iterable[DictionaryCandidate]) -> _Origin:
        known = self._origins.setdefault(origin, _Origin())
        for candidate in candidates:
            present = known.candidates.get(candidate.url, candidate)
            known.candidates[candidate.url] = max(present, candidate, key=lambda one: one.received_s)
        while len(known.candidates) > CANDIDATES_KEPT:
            del known.candidates[min(known.candidates.values(), key=lambda one: one.received_s).url]
        return known
