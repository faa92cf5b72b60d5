"""The index of copies whose origins declare that parts of the query do not matter (No-Vary-Search)."""

from cachetools import LRUCache

from bestbefore.addon.rfc9111.caching.search_variance import NO_VARY_SEARCH, SearchVariance
from bestbefore.addon.rfc9111.copy import Copy

PATHS_KEPT = 2048
"""How many paths (with scheme and host) are indexed."""
URLS_BYTES = 4 * 1024 * 1024
"""How long all indexed URLs are together, in characters."""


class SearchIndex:
    """For each path the latest declaration of its origin, and by what selects a response the URL that has a copy.

    It only proposes: its user compares the request with the copy itself. The least recently used are removed.
    """

    def __init__(self) -> None:
        self._variances: LRUCache[tuple[str, str], SearchVariance] = LRUCache(PATHS_KEPT)
        """By partition and URL without query."""
        self._urls: LRUCache[tuple[str, str, str], str] = LRUCache(URLS_BYTES, getsizeof=len)

    def add(self, copy: Copy) -> None:
        """Add a copy, if its origin declares a variance."""
        if NO_VARY_SEARCH not in copy.head.fields:
            return
        variance = SearchVariance.of(copy.head.fields)
        path, _, query = copy.url.partition("?")
        selecting = None if variance is None else variance.digest(query)
        if variance is None or selecting is None or len(copy.url) > URLS_BYTES:
            return
        self._variances[copy.partition, path] = variance
        self._urls[copy.partition, path, selecting] = copy.url

    def find(self, url: str, partition: str) -> str | None:
        """Return another URL with a copy that probably answers a request for this one; None if there is none."""
        path, _, query = url.partition("?")
        variance = self._variances.get((partition, path))
        selecting = None if variance is None else variance.digest(query)
        found = None if selecting is None else self._urls.get((partition, path, selecting))
        return None if found == url else found
