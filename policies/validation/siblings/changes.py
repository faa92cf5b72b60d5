"""The latest changes of the objects of a site, as contacts have shown them."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

CHANGES_KEPT = 24
"""How many changes of a site are kept; the one that was found first is removed first."""


class SiteChange(NamedTuple):
    """A change of an object of the site, at a time that the origin has given."""

    update_s: float
    """When the object changed, Unix seconds."""
    name: str
    """The name or URL of the object."""
    directory: str
    """See `directory_of`."""


class SiteChanges:
    """The changes of a site that were found last, at most `CHANGES_KEPT`."""

    __slots__ = ("_found", "latest_s")

    def __init__(self) -> None:
        self._found: deque[SiteChange] = deque(maxlen=CHANGES_KEPT)
        self.latest_s = float("-inf")
        """The time of the latest change; copies that were current then are not concerned by any."""

    def add(self, change: SiteChange) -> None:
        """Add a change that a contact has found; another contact may have found it before."""
        if change not in self._found:
            self._found.append(change)
        self.latest_s = max(self.latest_s, change.update_s)

    def __iter__(self) -> Iterator[SiteChange]:
        return iter(self._found)

    def of_siblings(self, name: str, after_s: float) -> Iterator[SiteChange]:
        """Return the changes of other objects after a time, at which the named object was known to be current."""
        if self.latest_s > after_s:
            for change in self._found:
                if change.update_s > after_s and change.name != name:
                    yield change


def directory_of(name: str) -> str:
    """Return the part of a name or URL before the last `/` of its path, by which objects are taken to be alike.

    >>> directory_of("https://example.org/a/b.html?page=/2"), directory_of("index")
    ('https://example.org/a', '')
    """
    return name.partition("?")[0].rpartition("/")[0]
