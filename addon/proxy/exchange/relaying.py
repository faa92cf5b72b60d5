"""Passes the origin's answer on to the client, and shares its content with those who wait for it."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.response import Relay, on_failure, outcome_of
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.collecting import Collecting, Completed
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.flight import Arrived, Arriving, Flight, Spool
from bestbefore.addon.proxy.exchange.sending import Present, Sending
from bestbefore.addon.proxy.feeds.feed_answers import as_feed, is_awaited, read_start, resumed
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

FEED_PATIENCE_S = 10.0
"""How long the content of a feed is awaited whose head is to bear what only all of it tells; real seconds."""
WHOLE_BYTES = 16 * 1024
"""Content announced to be no larger is read whole before it is sent, which saves two turns of the event loop."""


@dataclass(frozen=True, slots=True)
class _Coming:
    """The content of an answer that can begin."""

    content: bytes | AsyncGenerator[bytes]
    release: Callable[[], object]


@dataclass(frozen=True, slots=True)
class _Whole(_Coming):
    """Content all of which has come."""

    size: int
    completed: Completed | None
    body: Body | None = None
    """For others."""


class Relaying:
    """Makes the answer to a client of that of the origin."""

    def __init__(
        self, clock: Clock, store: Store, present: Present, sending: Sending, collecting: Collecting, budget: Budget
    ) -> None:
        self._clock = clock
        self._store = store
        self._present = present
        self._sending = sending
        self._collecting = collecting
        self._budget = budget

    async def answer(self, contact: Contact, fetched: Fetched, relay: Relay, flight: Flight) -> Answer:
        """The answer, whose content is collected on the way if it is to be kept. Raises OriginError."""
        context, ask = contact.context, contact.ask
        if relay.drops:
            self._store.drop(ask.request.target.url)
        for renewed in relay.replaces:
            self._store.put(renewed, None)
        stores = not relay.why_not_stored
        context.outcome = outcome = outcome_of(ask, relay)
        context.reason = ask.detail or relay.why_not_stored or ask.fwd
        context.stored, context.unnecessary = stores, outcome is Outcome.VALIDATED
        detail = "" if ask.fwd is Fwd.METHOD else ask.detail or relay.why_not_stored
        member = cache_status.forwarded(ask.fwd, fwd_status=fetched.head.status, stored=stores, detail=detail)
        head = heads.passed_on(relay.head, self._clock.now(), member, self._present.site)
        coming = await self._coming(contact, fetched, relay, flight)
        content = coming.content
        if isinstance(coming, _Whole):
            completed = coming.completed
            if completed is not None and completed.stored and coming.body is not None:
                flight.land(Arrived(completed.copy, coming.body))
            else:
                flight.land(None)
            if "content-length" not in head.fields:
                head = replace(head, fields=head.fields.replaced("Content-Length", str(coming.size)))
            head, content = as_feed(context, head, content, coming.size, completed.copy if completed else None)
        # Who was asked for a part and sends the whole either has no parts or finds the client's out of date: to be seen
        # by the client. And what is not stored may be too long to make anyone wait for a part of it.
        cuttable = stores and "range" not in ask.sent.fields
        send = self._sending.arriving if cuttable else self._sending.answer
        answer = send(context, head, content)
        answer.release.append(coming.release)
        return answer

    async def _coming(self, contact: Contact, fetched: Fetched, relay: Relay, flight: Flight) -> _Coming:
        """The content, as soon as the answer can begin; others may join from then on. Raises OriginError."""
        ask, rule, chunks, awaited = contact.ask, contact.rule, fetched.chunks, False
        stores = not relay.why_not_stored
        is_short = not ask.bypass and fetched.length is not None and fetched.length <= WHOLE_BYTES
        must_be_whole = is_short or self._must_be_whole(contact, fetched)
        release: Callable[[], object] = fetched.close
        try:
            if is_awaited(ask.request, relay, rule):
                start, awaited = await read_start(chunks, relay.head)
                chunks = resumed(start, chunks)
            if not (stores or awaited):
                flight.land(None)
                if is_short:
                    body, completed = await self._collecting.read(contact, fetched, chunks, relay)
                    return _Whole(body, release, len(body), completed)
                if not must_be_whole:
                    return _Coming(self._collecting.passed(contact, fetched, chunks, relay), release)
            spool = Spool(self._present.site.max_cached_body, self._budget)
            reader = spool.join()
            content, release = spool.read(reader), lambda: spool.leave(reader)
            collecting = contact.background.spawn(self._collecting.collect(contact, fetched, chunks, relay, spool))
            whole = awaited and await spool.settled(FEED_PATIENCE_S)
            if stores and relay.draft is not None and not whole:
                flight.land(Arriving(relay.draft, spool, fits=fetched.length is not None))
            whole = whole or (must_be_whole and await spool.settled())
            if whole or must_be_whole:
                spool.raise_error()
        except BaseException:  # no answer will be there to release it
            release()
            raise
        if not whole:
            return _Coming(content, release)
        kept = spool.body
        return _Whole(kept if isinstance(kept, bytes) else content, release, spool.size, collecting.result(), kept)

    def _must_be_whole(self, contact: Contact, fetched: Fetched) -> bool:
        """Whether the content is awaited before anything is sent: a copy would stand in for it."""
        fits = fetched.length is not None and fetched.length <= self._present.site.max_cached_body
        return fits and on_failure(contact.ask, contact.rule, self._clock.now()) is not None
