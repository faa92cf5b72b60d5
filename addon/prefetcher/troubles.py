"""Why watched objects could not be fetched, for `show` and `plan --live`."""

from collections.abc import Collection

from bestbefore.addon.clock import Clock
from bestbefore.addon.prefetcher.eligibility import refused_url
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.trouble import Trouble


class Troubles:
    """The troubles of the objects of one configuration, which are written behind."""

    def __init__(self, watched: Collection[str], clock: Clock) -> None:
        self._watched = watched
        self._clock = clock
        self._well: set[str] = set()
        """The objects whose last fetch went well, of which the store knows so."""
        self._unwritten: dict[str, Trouble | None] = {}
        for url in watched:
            refusal = refused_url(url)
            if refusal is not None:
                self.note(url, refusal)

    def note(self, url: str, what: str) -> None:
        """Record the result of an attempt; empty: it went well."""
        if url not in self._watched or (not what and url in self._well):
            return
        if what:
            self._well.discard(url)
        else:
            self._well.add(url)
        self._unwritten[url] = Trouble(what, self._clock.now()) if what else None

    async def write(self, planning: Planning) -> None:
        """Write what was noted to the store."""
        unwritten, self._unwritten = self._unwritten, {}
        if unwritten and not await planning.put_troubles(unwritten):
            self._unwritten = {**unwritten, **self._unwritten}
