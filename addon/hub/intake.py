"""Takes what a channel brings into the edge's store, in the way of a fetched copy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.channel.publication import why_not_published
from bestbefore.addon.engine.piggyback import UPDATES, ReportedUpdates, read
from bestbefore.addon.engine.response import observed
from bestbefore.addon.hub.packing import unpacked
from bestbefore.addon.hub.wire.message import Object
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.feeds.feed_answers import as_copy_of_feed, listing_of
from bestbefore.addon.proxy.feeds.feeds import FeedReader
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.backend.keys import variant_of
from bestbefore.addon.store.store import Store

UNFIT = "unfit"
CHANGED_KEPT = 10_000
"""Of how many objects it is kept for the other workers that their copies were changed, while the store is away."""


@dataclass(slots=True, eq=False)
class Intake:
    """Stores copies and histories, and marks which copies the channel covers."""

    store: Store
    clock: Clock
    rules: Callable[[], Rules]
    most_bytes: int
    """The largest content that is stored."""
    is_wanted: Callable[[Target], bool]
    changed: dict[str | None, None] = field(init=False, default_factory=dict)
    """The URLs whose copies were changed, until `take_changed`; None: more than are kept."""
    _evaluator: ExpiryEvaluator = field(init=False)
    _feeds: FeedReader = field(init=False, default_factory=FeedReader)

    def __post_init__(self) -> None:
        self._evaluator = ExpiryEvaluator(self.store, self.rules)

    async def take(self, carried: Object, covered: tuple[str, int]) -> str:
        """Store an object; return what became of it, as a label of metrics. Raises MalformedMessageError.

        `covered`: the channel that brought it, and the place in it.
        """
        copy = unpacked(carried)
        target = Target.parse(copy.url)
        if not self.is_wanted(target):
            return "unwanted"
        present = next((one for one in await self._present(copy.url) if variant_of(one) == variant_of(copy)), None)
        is_same = present is not None and present.body.digest == copy.body.digest
        if why_not_published(copy, named=True, most_bytes=self.most_bytes) is not None:
            self._cover(present, None)
            return UNFIT
        if present is not None and present.was_received_after(copy, self.clock.now()):
            self._cover(present, covered if is_same else None)
            return "older"
        if carried.body is None and not is_same:
            self._cover(present, None)
            return "without-content"
        await self._store(replace(copy, covered=covered), carried, target)
        return "head" if carried.body is None else "copy"

    async def take_back(self, urls: Sequence[str]) -> None:
        """Let the edge's own policy decide again on the copies of these objects."""
        for url in urls:
            for copy in await self._present(url):
                self._cover(copy, None)

    def take_changed(self) -> tuple[str | None, ...]:
        """Return the URLs whose copies were changed since the last call; None among them: more than are kept."""
        changed, self.changed = tuple(self.changed), {}
        return changed

    def _put(self, copy: Copy, body: bytes | None) -> None:
        self.store.put(copy, body)
        if len(self.changed) >= CHANGED_KEPT:
            self.changed = {None: None}
        if None not in self.changed:
            self.changed[copy.url] = None

    async def _present(self, url: str) -> Sequence[Copy]:
        return (await self.store.copies(url)).copies

    def _cover(self, copy: Copy | None, covered: tuple[str, int] | None) -> None:
        if copy is not None and copy.covered != covered:
            self._put(replace(copy, covered=covered), None)

    async def _store(self, copy: Copy, carried: Object, target: Target) -> None:
        rule = self.rules().rule_for(target.host, target.path)
        body, listing = carried.body, None
        document = None if body is None else await self._feeds.read(copy.head, body)
        if document is not None:
            copy = as_copy_of_feed(copy, document, rule)
            listing = listing_of(copy, document)
        reported = _reported(carried, max(self.clock.now(), copy.response_time_s))
        digest = None if body is None else copy.body.digest
        learnt = await self.store.learn(observed(Request("GET", target), copy, digest, rule, reported, listing))
        self._put(await self._evaluator.evaluated(copy, learnt.record, rule), body)


def _reported(carried: Object, now_s: float) -> ReportedUpdates | None:
    """Return the updates that an object carries; no later ones than now, by the later of the two clocks."""
    if carried.history:
        return read(Fields([(UPDATES, carried.history)]), now_s)
    return None if carried.since_s is None else ReportedUpdates(carried.updates_s, carried.since_s)
