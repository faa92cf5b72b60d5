"""What is known of a URL from others beside it: of the same path with another query, or of the same directory.

An API whose queries vary is learnt from its first URLs, not from each of them.
"""

from dataclasses import dataclass

from cachetools import LRUCache

ENTRIES = 16_384
"""How many paths and directories are remembered, together."""
OF_DIRECTORY = 3
"""How many other paths of a directory must have had responses that could not be shared."""


@dataclass(slots=True)
class _Place:
    """A path, of which the URLs are members; or a directory, of which the paths are."""

    members: frozenset[int] = frozenset()
    """Those with responses that could not be shared: enough of them to judge any other member."""
    until_s: float = 0.0
    """Until when they are remembered."""
    shared_until_s: float = 0.0
    """Until when it is remembered that a response of this place could be shared."""


@dataclass(frozen=True, slots=True)
class Location:
    """Digests of a URL, its path without the query, and its directory. All are different."""

    url: int
    path: int
    directory: int


class Neighbours:
    """Remembers the paths and directories with responses that could not be shared, and none that could."""

    def __init__(self, kept_s: float) -> None:
        """`kept_s`: how long a response is remembered, policy seconds."""
        self._kept_s = kept_s
        self._places: LRUCache[int, _Place] = LRUCache(ENTRIES)

    def add(self, where: Location, now_s: float) -> None:
        """Remember a response that could not be shared."""
        for key, member in ((where.path, where.url), (where.directory, where.path)):
            place = self._of(key)
            known = place.members if now_s < place.until_s else frozenset()
            place.members = known if len(known) > OF_DIRECTORY else known | {member}
            place.until_s = now_s + self._kept_s

    def discard(self, where: Location, now_s: float) -> None:
        """Remember a response that could be shared."""
        for place in (self._of(where.path), self._of(where.directory)):
            place.members, place.shared_until_s = frozenset(), now_s + self._kept_s

    def has(self, where: Location, now_s: float) -> bool:
        """Whether the response to a URL could probably not be shared, judging by others."""
        by_path = self._others(where.path, where.url, now_s) >= 1
        return by_path or self._others(where.directory, where.path, now_s) >= OF_DIRECTORY

    def _others(self, key: int, member: int, now_s: float) -> int:
        """Return how many members but this one could not be shared; 0 if some could."""
        place = self._places.get(key)
        if place is None or now_s < place.shared_until_s:
            return 0
        is_remembered = 0.0 < place.until_s - now_s <= self._kept_s  # the clock may have been set back
        return len(place.members - {member}) if is_remembered else 0

    def _of(self, key: int) -> _Place:
        place: _Place = self._places.setdefault(key, _Place())
        return place
