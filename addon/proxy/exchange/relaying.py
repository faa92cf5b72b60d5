"""Relays the origin's response to the client, and shares its content with joined requests."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from functools import partial

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.response import Relay, on_failure, outcome_of
from bestbefore.addon.proxy.exchange.answer import Answer, Ready
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.collecting import AnswerCollector, Completed
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.sharing.flight import CopyResult, Flight, StreamingResult
from bestbefore.addon.proxy.exchange.sharing.rest_reader import RestReader
from bestbefore.addon.proxy.exchange.sharing.spool import Spool
from bestbefore.addon.proxy.feeds.feed_answers import as_feed, is_awaited, read_start, resumed
from bestbefore.addon.proxy.feeds.feeds import begins_feed
from bestbefore.addon.proxy.origin.contact import Fetched, Source
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

FEED_PATIENCE_S = 10.0
"""How long the proxy waits for the whole content of a feed from which it computes a field; real seconds."""
WHOLE_BYTES = 16 * 1024
"""Content of up to this announced size is read completely before it is sent, which saves two turns of the event
loop."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """The content of an answer that can begin to be sent."""

    content: bytes | AsyncGenerator[bytes]
    release: Callable[[], object]


@dataclass(frozen=True, slots=True)
class _Complete(_Begun):
    """Content that has arrived completely."""

    size: int
    completed: Completed | None
    body: Body | None = None
    """The content for joined requests; None if there was no room for it."""


@dataclass(slots=True)
class _EarlyAnswer:
    """The answer with content that has arrived, which the client gets before the response is learnt from and stored.

    These take a fifth of the time of a miss. What the client sends next is read when they are done, and requests of
    others that come before join this one.
    """

    head: Head
    build: Callable[[Head, bytes], Answer]
    ready: Ready | None
    flight: Flight
    answer: Answer | None = None
    """None: what is learnt may change it, as the content may be a feed."""

    def on_content(self, content: bytes) -> None:
        """Make the answer of the whole content."""
        if self.ready is not None and begins_feed(self.head, content) is False:
            self.answer = self.build(_with_length(self.head, len(content)), content)
            self.flight.is_answered = self.ready(self.answer)


@dataclass(frozen=True, slots=True)
class AnswerRelayer:
    """Makes the answer to a client from the origin's response."""

    clock: Clock
    store: Store
    origin: Source
    active: ActiveConfig
    answers: AnswerBuilder
    collector: AnswerCollector
    budget: Budget

    async def answer(self, contact: Contact, fetched: Fetched, relay: Relay, flight: Flight) -> Answer:
        """Return the answer; its content is collected at the same time if it is stored. Raises OriginError."""
        context, ask = contact.context, contact.ask
        if relay.drops:
            self.store.drop(ask.request.target.url)
        for renewed in relay.replaces:
            self.store.put(renewed, None)
        stores = not relay.why_not_stored
        context.record.outcome = outcome = outcome_of(ask, relay)
        context.record.reason = ask.detail or relay.detail or relay.why_not_stored or ask.fwd
        context.record.stored, context.record.unnecessary = stores, outcome is Outcome.VALIDATED
        detail = "" if ask.fwd is Fwd.METHOD else ask.detail or relay.detail or relay.why_not_stored
        origin_head = context.origin_head or fetched.head  # not that of the response which stored parts complete
        member = cache_status.forwarded(ask.fwd, fwd_status=origin_head.status, stored=stores, detail=detail)
        head = heads.forwarded(relay.head, self.clock.now(), member, self.active.site)
        # An origin that answers a range request with a 200 supports no ranges, or finds the client's validator
        # outdated; the client must see that. And a response that is not stored may be long before the requested range
        # begins.
        may_cut = stores and ("range" not in ask.sent.fields or ask.rest is not None)
        build = partial(self.answers.from_origin if may_cut else self.answers.answer, context)
        early = _EarlyAnswer(head, build, context.ready, flight)
        begun = await self._begin(contact, fetched, relay, flight, early)
        content = begun.content
        if isinstance(begun, _Complete):
            completed = begun.completed
            if completed is not None and completed.stored and begun.body is not None:
                flight.set_result(CopyResult(completed.copy, begun.body))
            else:
                flight.set_result(None)
            head = _with_length(head, begun.size)
            head, content = as_feed(context, head, content, begun.size, completed.copy if completed else None)
        answer = early.answer or build(head, content)
        answer.release.append(begun.release)
        return answer

    async def _begin(
        self, contact: Contact, fetched: Fetched, relay: Relay, flight: Flight, early: _EarlyAnswer
    ) -> _Begun:
        """Return the content as soon as the answer can begin; others may join from then on. Raises OriginError."""
        ask, rule, chunks, awaited = contact.ask, contact.rule, fetched.chunks, False
        stores = not relay.why_not_stored
        is_short = not ask.bypass and fetched.length is not None and fetched.length <= WHOLE_BYTES
        must_be_whole = is_short or self._must_be_whole(contact, fetched)
        release: Callable[[], object] = fetched.close
        try:
            if is_awaited(ask.request, relay, rule):
                start, awaited = await read_start(chunks, relay.head)
                chunks = resumed(start, chunks)
            # What has arrived needs no spool: others that wait for it get it no earlier from one.
            if stores and is_short and not awaited and ask.rest is None and fetched.has_arrived():
                body, completed = await self.collector.read(contact, fetched, chunks, relay, early.on_content)
                return _Complete(body, release, len(body), completed, body)
            # Short content that others wait for is shared once it turns out to be what it was before.
            if not (stores or awaited or (relay.shares and is_short)):
                flight.set_result(None)
                if is_short:
                    body, completed = await self.collector.read(contact, fetched, chunks, relay)
                    return _Complete(body, release, len(body), completed)
                if not must_be_whole:
                    return _Begun(self.collector.passed(contact, fetched, chunks, relay), release)
            spool = Spool(self.active.site.stored_at_most, self.budget)
            reader = spool.join()
            rest = RestReader(self.origin, contact, relay.head)
            content, release = spool.read(reader, rest.read), lambda: spool.leave(reader)
            collecting = contact.background.spawn(self.collector.collect(contact, fetched, chunks, relay, spool))
            whole = awaited and await spool.is_collected(FEED_PATIENCE_S)
            if stores and relay.draft is not None and not whole:
                flight.set_result(StreamingResult(relay.draft, spool, whole_first=must_be_whole))
            whole = whole or (must_be_whole and await spool.is_collected())
            if whole or must_be_whole:
                spool.raise_error()
        except BaseException:  # there will be no answer that releases the spool
            release()
            raise
        if not whole:
            return _Begun(content, release)
        kept = spool.body
        return _Complete(kept if isinstance(kept, bytes) else content, release, spool.size, collecting.result(), kept)

    def _must_be_whole(self, contact: Contact, fetched: Fetched) -> bool:
        """Whether the content must be complete before the answer begins, because a copy can replace it on failure."""
        fits = fetched.length is not None and fetched.length <= self.active.site.max_cached_body
        return fits and on_failure(contact.ask, contact.rule, self.clock.now()) is not None


def _with_length(head: Head, size: int) -> Head:
    """Return the head with the size of the content, if it does not state it."""
    if "content-length" in head.fields:
        return head
    return replace(head, fields=head.fields.replaced("Content-Length", str(size)))
