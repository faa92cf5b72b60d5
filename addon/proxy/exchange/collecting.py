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
from bestbefore.addon.proxy.exchange.context import Contact, RequestContext
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


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of an answer whose content has come to its end."""

    copy: Copy
    """As it is stored or, if it may not be, as it would be."""
    stored: bool


class _Received:
    """The content that came so far: its size and its digest."""

    def __init__(self, relay: Relay) -> None:
        self.size = 0
        self._digest = None if relay.draft is None else hashlib.blake2b(digest_size=20)

    def add(self, chunk: bytes) -> int:
        """Count a piece. The size so far."""
        self.size += len(chunk)
        if self._digest is not None:
            self._digest.update(chunk)
        return self.size

    @property
    def reference(self) -> BodyRef:
        """Return a reference to what came so far."""
        return BodyRef("" if self._digest is None else self._digest.hexdigest(), self.size)


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
        self, contact: Contact, fetched: Fetched, chunks: AsyncGenerator[bytes], relay: Relay, spool: Spool
    ) -> Completed | None:
        """Read an answer to its end, whether or not the client that asked for it is still there, and store it.

        If reading is given up, or fails by a bug, those who read along must not take what there is for all
        of it. None: its content was not complete, or is nothing to store or learn from.
        """
        error: OriginError | None = OriginError(Failure.RESET, "the answer was not read to its end")
        received, completed, is_complete = _Received(relay), None, False
        try:
            async for chunk in chunks:
                size = contact.context.received_bytes = received.add(chunk)
                await spool.add(chunk)
                if spool.is_too_large:
                    contact.context.stored = False
                if size == fetched.length:
                    # Now rather than after it has been sent: the client's next request may be here at once.
                    is_complete, completed = True, await self._complete(contact, relay, received, spool.body)
                if not await spool.show():
                    break
            else:
                if not is_complete:
                    completed = await self._complete(contact, relay, received, spool.body)
            error = None
        except OriginError as raised:
            error = raised
        finally:
            await chunks.aclose()
            fetched.close()
            spool.end(error)
        return completed

    async def read(
        self, contact: Contact, fetched: Fetched, chunks: AsyncGenerator[bytes], relay: Relay
    ) -> tuple[bytes, Completed | None]:
        """Return the whole of an answer that is short and not stored, and what it was. Raises OriginError."""
        received, pieces = _Received(relay), list[bytes]()
        try:
            async for chunk in chunks:
                contact.context.received_bytes = received.add(chunk)
                pieces.append(chunk)
            content = b"".join(pieces)
            fits = len(content) <= self.present.site.max_cached_body
            may_be_feed = fits and teaches_as_feed(relay) and begins_feed(relay.head, content) is not False
            return content, await self._complete(contact, relay, received, content if may_be_feed else None)
        finally:
            fetched.close()

    async def passed(
        self, contact: Contact, fetched: Fetched, chunks: AsyncGenerator[bytes], relay: Relay
    ) -> AsyncGenerator[bytes]:
        """The content of an answer that is not stored, as it comes; it is learnt from at its end."""
        received = _Received(relay)
        content = Content(self.budget) if teaches_as_feed(relay) else None
        is_complete = False
        try:
            async for chunk in chunks:
                size = contact.context.received_bytes = received.add(chunk)
                if content is not None:
                    is_first = size == len(chunk)
                    too_large = size > self.present.site.max_cached_body
                    unused = too_large or (is_first and begins_feed(relay.head, chunk) is False)
                    if unused or not await content.add(chunk):
                        content = None
                if size == fetched.length:
                    is_complete = True
                    await self._complete(contact, relay, received, None if content is None else content.body())
                    content = None
                yield chunk
            if not is_complete:
                await self._complete(contact, relay, received, None if content is None else content.body())
        finally:
            fetched.close()

    async def _complete(
        self, contact: Contact, relay: Relay, received: _Received, kept: Kept | None
    ) -> Completed | None:
        """Learn from a complete answer, and store it if it may be. `kept`: its content, if there was room for it."""
        context, rule, request = contact.context, contact.rule, contact.ask.request
        if relay.draft is None:
            return None
        body = received.reference
        stored = completed(relay, body, complete=kept is not None)
        copy = relay.draft if stored is None else stored
        digest = "" if copy.head.status == 304 else body.digest
        document = None if kept is None else await self.feeds.read(copy.head, kept)
        if document is not None:
            copy = as_copy_of_feed(copy, document, rule)
        listing = None if document is None else listing_of(copy, document)
        seen = observed(request, copy, digest, rule, relay.reported, listing)
        learnt = await self.learn(seen, context) if shows_object(copy.head.status) else None
        context.stored = stored is not None
        if stored is None or kept is None:
            return Completed(copy, stored=False)
        record = await self.store.record(copy.url) if learnt is None else learnt.record
        evaluated = await self.evaluator.evaluated(copy, record, rule)
        self.store.put(evaluated, await _few_files(kept))
        _, context.ttl_s = prospect(request, evaluated, rule, self.clock.now())
        return Completed(evaluated, stored=True)

    async def learn(self, observation: Observation, context: RequestContext) -> Learnt:
        """Learn what a contact has shown."""
        learnt = context.learnt = await self.store.learn(observation)
        context.update = bool(learnt.new_updates_s) and learnt.changed is True
        context.unnecessary = context.validation and learnt.changed is False
        return learnt


async def _few_files(kept: Kept) -> Kept:
    """Content for the store, where it may wait for long: as a file only if it is so large that few of them wait."""
    if isinstance(kept, bytes) or len(kept) > MEMORY_BYTES:
        return kept
    return await asyncio.to_thread(kept.read_all)


def prospect(request: Request, copy: Copy, rule: DomainRule, now_s: float) -> tuple[str, float | None]:
    """Return what will decide on the next request like this one, and for how long it will be served without contact."""
    expiry_s, reason = expiry(request, copy, rule)
    return reason, None if expiry_s is None else expiry_s - now_s
