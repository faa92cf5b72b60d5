"""How often signals were right, by site and kind, which all processes of a store count together."""

from collections.abc import Mapping
from dataclasses import astuple

import msgspec

from bestbefore.addon.engine.signals.evidence import SOURCES_KEPT, SignalEvidence, SignalSource
from bestbefore.addon.store.cache.link import Link

_NAME = "signals"
type _Rows = list[tuple[str, str, list[float]]]


class SignalCounts:
    """The sums in the store: one value, since they are few. Of two processes that add at once one may lose a minute."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def read(self) -> dict[SignalSource, SignalEvidence]:
        """Return the evidence of all sources; empty while the backend is down, or if another version wrote it."""
        found = await self._link.read(lambda backend: backend.position(_NAME))
        try:
            rows = msgspec.json.decode(found or b"[]", type=_Rows)
            return {SignalSource(site, kind): SignalEvidence(*counts) for site, kind, counts in rows}
        except (msgspec.DecodeError, TypeError):
            return {}

    async def add(self, more: Mapping[SignalSource, SignalEvidence], gone: frozenset[str] = frozenset()) -> None:
        """Add to the sums, and remove those of some sites. The sources that were judged last are kept."""
        sums = await self.read()
        for source, counts in more.items():
            sums[source] = sums.pop(source, SignalEvidence()).plus(counts)
        kept = [(*source, astuple(e)) for source, e in sums.items() if source.site not in gone]
        value = msgspec.json.encode(kept[-SOURCES_KEPT:])
        await self._link.read(lambda backend: backend.put_position(_NAME, value))
