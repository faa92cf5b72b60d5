"""Reads the origin's answer to its end, learns from it, and gives the store what is to be kept."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.learning import Learnt
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.response import Relay, completed, observed, shows_object
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES, Content
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.exchange.flight import Spool
from bestbefore.addon.proxy.exchange.sending import Present
from bestbefore.addon.proxy.feeds.feed_answers import as_copy_of_feed, listing_of, teaches_as_feed
from bestbefore.addon.proxy.feeds.feeds import FeedReader, begins_feed
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.caching.reuse import expiry
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.store import Store

type Kept = bytes | UnlinkedFile


class Collected:
    """What is collected of one answer, and what has become of it."""

    def __init__(self, request: Request, rule: DomainRule, relay: Relay) -> None:
        self.request, self.rule, self.relay = request, rule, relay
        self.copy: Copy | None = None
        """As it is stored or, if it may not be, as it would be; None as long as the content is not complete."""
        self._digest = hashlib.blake2b(digest_size=20)
        self._size = 0

    def add(self, chunk: bytes) -> int:
        """Count a piece. The size so far."""
        self._size += len(chunk)
        if self.relay.draft is not None:
            self._digest.update(chunk)
        return self._size

    @property
    def reference(self) -> BodyRef:
        """What came so far."""
        return BodyRef(self._digest.hexdigest(), self._size)


@dataclass(frozen=True, slots=True)
class Collecting:
    """Collects answers within the budget."""

    clock: Clock
    store: Store
    evaluator: ExpiryEvaluator
    present: Present
    feeds: FeedReader
    budget: Budget

    async def collect(
        self,
        context: RequestContext,
        fetched: Fetched,
        chunks: AsyncGenerator[bytes],
        collected: Collected,
        spool: Spool,
    ) -> None:
        """Read an answer to its end, whether or not the client that asked for it is still there, and store it.

        If reading is given up, or fails by a fault of ours, those who read along must not take what there is for all
        of it.
        """
        error: OriginError | None = OriginError(Failure.RESET, "the answer was not read to its end")
        kept = False
        try:
            async for chunk in chunks:
                size = context.received_bytes = collected.add(chunk)
                await spool.add(chunk)
                if spool.is_too_large:
                    context.facts["stored"] = False
                if size == fetched.length:
                    # Now rather than after it has been sent: the client's next request may be here at once.
                    kept = True
                    await self._keep(context, collected, spool.body)
                if not await spool.show():
                    break
            else:
                if not kept:
                    await self._keep(context, collected, spool.body)
            error = None
        except OriginError as raised:
            error = raised
        finally:
            await chunks.aclose()
            fetched.close()
            spool.end(error)

    async def passed(
        self, context: RequestContext, fetched: Fetched, chunks: AsyncGenerator[bytes], collected: Collected
    ) -> AsyncGenerator[bytes]:
        """The content of an answer that is not stored, as it comes; it is learnt from at its end."""
        relay = collected.relay
        content = Content(self.budget) if teaches_as_feed(relay) else None
        kept = False
        try:
            async for chunk in chunks:
                size = context.received_bytes = collected.add(chunk)
                if content is not None:
                    is_first = size == len(chunk)
                    too_large = size > self.present.site.max_cached_body
                    unused = too_large or (is_first and begins_feed(relay.head, chunk) is False)
                    if unused or not await content.add(chunk):
                        content = None
                if size == fetched.length:
                    kept = True
                    await self._keep(context, collected, None if content is None else content.body())
                    content = None
                yield chunk
            if not kept:
                await self._keep(context, collected, None if content is None else content.body())
        finally:
            fetched.close()

    async def _keep(self, context: RequestContext, collected: Collected, kept: Kept | None) -> None:
        """Learn from a complete answer, and store it if it may be."""
        relay, rule, body = collected.relay, collected.rule, collected.reference
        if relay.draft is None:
            return
        copy = completed(relay, body, complete=kept is not None)
        told = relay.draft if copy is None else copy
        digest = "" if told.head.status == 304 else body.digest
        document = None if kept is None else await self.feeds.read(told.head, kept)
        if document is not None:
            told = as_copy_of_feed(told, document, rule)
        listing = None if document is None else listing_of(told, document)
        seen = observed(collected.request, told, digest, rule, relay.reported, listing)
        learnt = await self.learn(seen, context) if shows_object(told.head.status) else None
        context.facts["stored"] = copy is not None
        collected.copy = told
        if copy is not None and kept is not None:
            record = await self.store.record(told.url) if learnt is None else learnt.record
            collected.copy = evaluated = await self.evaluator.evaluated(told, record, rule)
            self.store.put(evaluated, await _few_files(kept))
            _, context.ttl_s = prospect(collected.request, evaluated, rule, self.clock.now())

    async def learn(self, observation: Observation, context: RequestContext) -> Learnt:
        """Learn what a contact has shown."""
        learnt = context.learnt = await self.store.learn(observation)
        context.facts["update"] = bool(learnt.new_updates_s) and learnt.changed is True
        context.facts["unnecessary"] = context.facts["validation"] and learnt.changed is False
        return learnt


async def _few_files(kept: Kept) -> Kept:
    """Content for the store, where it may wait for long: as a file only if it is so large that few of them wait."""
    if isinstance(kept, bytes) or len(kept) > MEMORY_BYTES:
        return kept
    return await asyncio.to_thread(kept.read_all)


def prospect(request: Request, copy: Copy, rule: DomainRule, now_s: float) -> tuple[str, float | None]:
    """What will decide on the next request like this one, and for how long it will be served without contact."""
    expiry_s, reason = expiry(request, copy, rule)
    return reason, None if expiry_s is None else expiry_s - now_s
