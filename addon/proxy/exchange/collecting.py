"""Reads the origin's response to its end, learns from it, and stores it."""

import hashlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.partial.start import start_of
from bestbefore.addon.engine.response import Relay, completed, observed, shows_object
from bestbefore.addon.engine.signals.links import declared_hubs
from bestbefore.addon.engine.unvalidated.without_validator import Learnt, learnt_of, lifetime_of, stored_as
from bestbefore.addon.feeds.document import Document
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import Collected, Content, for_store
from bestbefore.addon.proxy.exchange.context import Contact, RequestContext
from bestbefore.addon.proxy.exchange.expiry_evaluator import Ended, ExpiryEvaluator
from bestbefore.addon.proxy.exchange.sharing.spool import Spool
from bestbefore.addon.proxy.feeds.feed_answers import as_copy_of_feed, listing_of, teaches_as_feed
from bestbefore.addon.proxy.feeds.feeds import FeedReader
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.proxy.partial.stored_parts import StoredParts
from bestbefore.addon.proxy.signals.signals import Signals
from bestbefore.addon.proxy.signals.sitemaps import may_begin_listing, read_listing
from bestbefore.addon.rfc9111.caching.reuse import expiry
from bestbefore.addon.rfc9111.caching.storing import NoStore
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.store import Store

READ_ON_BYTES = 8 << 20
"""How much of a response is read after all its clients have left. If more is missing, its start is kept."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a response whose content is complete."""

    copy: Copy
    """The copy as it is stored or, if it may not be stored, as it would be."""
    stored: bool


class _Received:
    """Size and digest of the content received so far."""

    def __init__(self, relay: Relay) -> None:
        self.size = 0
        self._digest = None if relay.draft is None else hashlib.blake2b(digest_size=20)

    def add(self, chunk: bytes) -> int:
        """Add a piece; return the size so far."""
        self.size += len(chunk)
        if self._digest is not None:
            self._digest.update(chunk)
        return self.size

    @property
    def reference(self) -> BodyRef:
        """Return a reference to the content received so far."""
        return BodyRef("" if self._digest is None else self._digest.hexdigest(), self.size)


@dataclass(frozen=True, slots=True)
class AnswerCollector:
    """Collects responses within the budget."""

    clock: Clock
    store: Store
    evaluator: ExpiryEvaluator
    active: ActiveConfig
    feeds: FeedReader
    budget: Budget
    parts: StoredParts
    signals: Signals
    background: BackgroundTasks
    """Those of the proxy: a listing is read on when the contact that brought it has ended."""

    async def collect(
        self, contact: Contact, fetched: Fetched, chunks: AsyncGenerator[bytes], relay: Relay, spool: Spool
    ) -> Completed | None:
        """Read a response to its end, even if its client has disconnected, and store it.

        If reading is cancelled, or fails by a bug, other readers of the spool must not take the content for complete.
        Returns None if the content was incomplete, or the response is neither stored nor learnt from.
        """
        error: OriginError | None = OriginError(Failure.RESET, "the answer was not read to its end")
        received, completed, is_complete = _Received(relay), None, False
        try:
            async for chunk in chunks:
                size = received.add(chunk)
                contact.context.record.received_bytes = max(0, size - fetched.spared_bytes - fetched.stored_bytes)
                await spool.add(chunk)
                if spool.is_too_large:
                    contact.context.record.stored = False
                if size == fetched.length:
                    # Store before the last piece is sent: the client's next request may follow at once.
                    is_complete, completed = True, await self._complete(contact, relay, received, spool.body)
                if not await spool.publish() or _is_given_up(spool, fetched, size):
                    await self._keep_start(contact, relay, received, spool)
                    break
            else:
                if not is_complete:
                    completed = await self._complete(contact, relay, received, spool.body)
            error = None
        except OriginError as raised:
            error = raised
            await self._keep_start(contact, relay, received, spool)
        finally:
            await chunks.aclose()
            fetched.close()
            spool.end(error)
        return completed

    async def read(
        self,
        contact: Contact,
        fetched: Fetched,
        chunks: AsyncGenerator[bytes],
        relay: Relay,
        on_content: Callable[[bytes], object] = lambda _: None,
    ) -> tuple[bytes, Completed | None]:
        """Read a short response that is not stored, or has arrived; return its content and the result.

        `on_content` is called with the content before the response is learnt from and stored. Raises OriginError.
        """
        received, pieces = _Received(relay), list[bytes]()
        try:
            async for chunk in chunks:
                size = received.add(chunk)
                contact.context.record.received_bytes = max(0, size - fetched.spared_bytes - fetched.stored_bytes)
                pieces.append(chunk)
            content = b"".join(pieces)
            on_content(content)
            fits = len(content) <= self.active.site.max_cached_body
            needed = fits and (
                not relay.why_not_stored
                or relay.collects
                or (teaches_as_feed(relay) and may_begin_listing(relay.head, content))
            )
            return content, await self._complete(contact, relay, received, content if needed else None)
        finally:
            fetched.close()

    async def passed(
        self, contact: Contact, fetched: Fetched, chunks: AsyncGenerator[bytes], relay: Relay
    ) -> AsyncGenerator[bytes]:
        """Yield the content of a response that is not stored, as it arrives; learn from it at its end."""
        received = _Received(relay)
        content = Content(self.budget) if relay.collects or teaches_as_feed(relay) else None
        is_complete = False
        try:
            async for chunk in chunks:
                size = received.add(chunk)
                contact.context.record.received_bytes = size - fetched.spared_bytes
                if content is not None:
                    is_first = size == len(chunk)
                    too_large = size > self.active.site.max_cached_body
                    unused = too_large or (
                        is_first and not relay.collects and not may_begin_listing(relay.head, chunk)
                    )
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
        self, contact: Contact, relay: Relay, received: _Received, collected: Collected | None
    ) -> Completed | None:
        """Learn from a complete response, and store it if allowed. `collected`: the content, if there was room."""
        context, rule, request = contact.context, contact.rule, contact.ask.request
        if relay.draft is None:
            return None
        body = received.reference
        stored = completed(relay, body, complete=collected is not None)
        copy = relay.draft if stored is None else stored
        is_part = copy.head.status == 206
        digest = "" if copy.head.status == 304 or is_part else body.digest
        document = None if collected is None or is_part else await self.feeds.read(copy.head, collected)
        if document is not None:
            copy = as_copy_of_feed(copy, document, rule)
        if collected is not None and not is_part and relay.why_not_stored in ("", NoStore.NEVER_USABLE):
            await self._take_signals(copy, collected, document)
        listing = None if document is None else listing_of(copy, document)
        observation = observed(request, copy, digest, rule, relay.reported, listing, relay.delivery)
        teaches = shows_object(copy.head.status) and (copy.has_validator or not is_part)
        learnt = await self.learn(observation, context, copy) if teaches else None
        evaluated = None
        if stored is not None:
            record = await self.store.record(copy.url) if learnt is None else learnt.record
            # Whose copy a response without validator is shows only what was learnt, and so where its demand is counted.
            requested_s, ended = context.requested_s, ended_by(contact, digest)
            if relay.delivery is not None:
                requested_s = ended = None
            evaluated = await self.evaluator.evaluated(
                copy.changed(because=contact.ask.because), record, rule, requested_s, ended
            )
        if learnt is not None and relay.delivery is not None:
            evaluated = self._as_learnt(contact, relay, learnt, evaluated)
            if evaluated is not None and rule.counts_demand:
                evaluated = await self.evaluator.evaluated(
                    evaluated, learnt.record, rule, context.requested_s, ended_by(contact, digest)
                )
        context.record.stored = evaluated is not None
        if evaluated is None or collected is None:
            return Completed(copy, stored=False)
        if is_part:
            await self.parts.put(evaluated, collected, self.active.site.stored_at_most)
        else:
            self.store.put(evaluated, await for_store(collected))
        _, context.record.ttl_s = next_decision(request, evaluated, rule, self.clock.now())
        return Completed(evaluated, stored=True)

    async def _take_signals(self, copy: Copy, content: Collected, feed: Document | None) -> None:
        """Take the signals of a sitemap, and note a declared hub, unless the response is for one client or Cookie."""
        if copy.client or copy.personal or copy.fetched_with_cookie or copy.fetched_with_authorization:
            return
        hub = declared_hubs(copy.url, copy.head.fields, () if feed is None else feed.links)
        if hub is not None:
            self.signals.on_hub(copy.url, hub)
        listed = None if feed is not None else await read_listing(copy.head, content)
        if listed is not None:
            self.background.spawn(self.signals.listed(copy.url, *listed, copy.current_s))

    def _as_learnt(self, contact: Contact, relay: Relay, learnt: RecordChange, copy: Copy | None) -> Copy | None:
        """Return the copy of a response without validator as it is stored; None if more must be learnt first.

        `copy`: None if its content was not collected. Drops the present copies if they are older than this response,
        or if it shows that clients get different content.
        """
        kept = None if relay.why_not_stored else copy
        if not learnt.applied or relay.draft is None:
            return kept
        if copy is not None:
            result = learnt_of(learnt.record, copy, lifetime_of(copy))
            if not contact.ask.detail:
                contact.context.record.reason = result
            if result is Learnt.FOR_ALL or (result is Learnt.FOR_CLIENT and kept is None):
                kept = stored_as(copy, result, contact.context.client_hash)
        differs = learnt.record.differed_s == relay.draft.current_s
        if differs or (kept is None and learnt.changed and contact.ask.chosen is not None):
            self.store.drop(relay.draft.url)
        return None if differs else kept

    async def _keep_start(self, contact: Contact, relay: Relay, received: _Received, spool: Spool) -> None:
        """Store the start of a response that did not arrive to its end, which no other request can join then."""
        spool.close()
        collected = spool.body
        part = None if collected is None else start_of(relay, received.reference)
        if part is None or collected is None or len(collected) != received.size:
            return
        evaluated = await self.evaluator.evaluated(part, await self.store.record(part.url), contact.rule)
        await self.parts.put(evaluated, collected, self.active.site.stored_at_most)

    async def learn(self, observation: Observation, context: RequestContext, copy: Copy) -> RecordChange:
        """Record what a contact has shown of the object; `copy` is made from its response, or confirmed by it."""
        announced_s = self.signals.book.announced_s(observation.url)
        if announced_s != observation.announced_s:
            observation = replace(observation, announced_s=announced_s)
        learnt = context.learnt = await self.store.learn(observation)
        self.signals.contacted(observation.url, learnt)
        if learnt.site is not None:
            self.active.site.contacted(context.request, copy, learnt.site)
        context.record.update = bool(learnt.new_updates_s) and learnt.changed is True
        context.record.unnecessary = context.record.validation and learnt.changed is False
        if context.record.unnecessary and context.record.outcome is Outcome.UPDATED:
            context.record.outcome = Outcome.REFETCHED
        return learnt


def _is_given_up(spool: Spool, fetched: Fetched, size: int) -> bool:
    """Whether no client waits for content of which much is still to come."""
    return not spool.has_readers and fetched.length is not None and fetched.length - size > READ_ON_BYTES


def ended_by(contact: Contact, digest: str) -> Ended | None:
    """Return the copy that a contact has validated or replaced; None if it had none, or has taught nothing.

    `digest`: that of the content; empty if the origin has sent none, as the copy's is current.
    """
    chosen = contact.ask.chosen
    if chosen is None or contact.context.learnt is None:
        return None
    return Ended(chosen, contact.context.record.time_s, digest not in ("", chosen.body.digest))


def next_decision(request: Request, copy: Copy, rule: DomainRule, now_s: float) -> tuple[str, float | None]:
    """Return the reason that will decide on an equal request now, and the remaining lifetime of the copy, s."""
    expiry_s, reason = expiry(request, copy, rule)
    return reason, None if expiry_s is None else expiry_s - now_s
