"""Asks the origin: one contact for all who ask for the same at the same time, and what is learnt and kept of it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace

from bestbefore.addon.admin.event import Outcome
from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.request import Ask, unconditional
from bestbefore.addon.engine.response import (
    GONE,
    Again,
    Confirmed,
    Fallback,
    Keep,
    Relay,
    Times,
    observed_unchanged,
    on_failure,
    on_response,
    remembered,
    shows_object,
)
from bestbefore.addon.engine.sharing import may_join, shared_use
from bestbefore.addon.proxy.access.new_objects import NewObjects
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.collecting import Collected, Collecting, prospect
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.exchange.flight import Arrived, Arriving, Crashed, Flight, Spool
from bestbefore.addon.proxy.exchange.sending import Present, Sending
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.feeds.feed_answers import as_feed, begun, is_awaited, resumed
from bestbefore.addon.proxy.feeds.feeds import FeedReader
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError, Source
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.caching.freshness import PERMANENT
from bestbefore.addon.rfc9111.caching.invalidation import invalidated
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

logger = logging.getLogger(__name__)

TOO_MANY = "too-many-objects"
"""Why an answer is not stored: its domain has had its share of new objects today."""
FEED_PATIENCE_S = 10.0
"""How long the content of a feed is awaited whose head is to bear what only all of it tells; real seconds."""
WHOLE_BYTES = 16 * 1024
"""Content announced to be no larger is read whole before it is sent, which saves two turns of the event loop."""


@dataclass(frozen=True, slots=True)
class _Coming:
    """The content of an answer when the answer begins."""

    content: bytes | AsyncGenerator[bytes]
    release: Callable[[], object]
    body: Body | None = None
    """All of it, for others."""
    is_whole: bool = False


class Contacts:
    """The side of an exchange that faces the origin."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        origin: Source,
        evaluator: ExpiryEvaluator,
        present: Present,
        sending: Sending,
        feeds: FeedReader,
        budget: Budget,
        stored: StoredContent,
    ) -> None:
        self._clock = clock
        self._store = store
        self._origin = origin
        self._evaluator = evaluator
        self._present = present
        self._sending = sending
        self._new_objects = NewObjects()
        self._budget = budget
        self._stored = stored
        self._collecting = Collecting(clock, store, evaluator, present, feeds, budget)
        self._flights: dict[tuple[str, str], Flight] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End what runs in the background."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def ask(self, context: RequestContext, ask: Ask, rule: DomainRule, upload: Upload | None = None) -> Answer:
        """The answer of the origin, or the one that another request of the same moment gets.

        `upload`: the content of the request, which then goes past the cache.
        """
        context.would_differ = "hit" if ask.override_would_serve else ""
        if ask.bypass or not may_join(ask.request, rule):
            return await self._contact(context, ask, rule, Flight(), upload)
        key = ask.request.partition, ask.request.target.url
        under_way = self._flights.get(key)
        if under_way is not None:
            joined = await self._join(context, ask, rule, under_way)
            return joined or await self._contact(context, ask, rule, Flight())
        flight = self._flights[key] = Flight()
        try:
            return await self._contact(context, ask, rule, flight)
        finally:
            flight.land(None)
            # One whose content is still on its way can be joined until the content is there.
            landing = await flight.landing()
            if isinstance(landing, Arriving):
                landing.spool.at_end(lambda: self._flights.pop(key, None))
            else:
                del self._flights[key]

    def refresh(self, context: RequestContext, ask: Ask, rule: DomainRule) -> None:
        """Ask in the background, unless that is under way already."""
        if (ask.request.partition, ask.request.target.url) not in self._flights:
            self._spawn(self._refresh(context, ask, rule))

    async def _refresh(self, context: RequestContext, ask: Ask, rule: DomainRule) -> None:
        context.facts["background"] = True
        with suppress(OriginError):  # whoever comes next asks again
            await (await self.ask(context, ask, rule)).read()

    async def prefetch(self, context: RequestContext, ask: Ask, rule: DomainRule) -> bool:
        """Ask although no client did; False if the origin is being asked for this already, which will do.

        Clients do not wait for its answer: they may reach what a prefetch may not. What is too large to be stored is
        not read to its end. Raises OriginError if the content breaks off.
        """
        if (ask.request.partition, ask.request.target.url) in self._flights:
            return False
        context.facts["background"] = True
        try:
            answer = await self._contact(context, ask, rule, Flight())
            await answer.read(self._present.site.max_cached_body)
        finally:
            if context.filling is not None:
                context.filling.cancel()  # if it was given up: nobody else reads this
        return True

    async def _join(self, context: RequestContext, ask: Ask, rule: DomainRule, flight: Flight) -> Answer | None:
        """The answer that another request has asked for; None if it is not for this one."""
        landing = await flight.landing()
        if landing is None:
            return None
        if isinstance(landing, Crashed):
            return await self._failed(context, ask, rule, landing.error)
        use = shared_use(
            ask.request, landing.copy, rule, self._present.site, arrived_s=context.time_s, now_s=self._clock.now()
        )
        if use is None or (landing.copy.local and context.restricted):
            return None
        if (isinstance(landing, Arriving) and not await landing.can_be_joined()) or self._store.is_dead(landing.copy):
            return None
        context.outcome, context.reason, context.ttl_s = Outcome.HIT, use.reason, use.ttl_s
        member = cache_status.forwarded(ask.fwd, collapsed=True, detail=use.reason)
        body = landing.spool if isinstance(landing, Arriving) else landing.body
        return self._sending.from_copy(context, landing.copy, body, member)

    # One contact.

    async def _contact(
        self, context: RequestContext, ask: Ask, rule: DomainRule, flight: Flight, upload: Upload | None = None
    ) -> Answer:
        context.facts.update(contact=True, validation=ask.chosen is not None)
        if ask.bypass:
            context.outcome = Outcome.BYPASS
        try:
            fetched = await self._origin.fetch(ask.sent, reach=context.reach, interim=context.interim, upload=upload)
        except OriginError as error:
            flight.land(Crashed(error))
            return await self._failed(context, ask, rule, error)
        context.origin_status = fetched.head.status
        context.encoding = fetched.head.fields.get("content-encoding") or ""
        for url in invalidated(ask.request, fetched.head):
            self._store.drop(url)
        times = Times(fetched.request_time_s, fetched.response_time_s)
        decision = on_response(ask, fetched.head, times, rule, self._present.site)
        if isinstance(decision, Relay):
            if decision.head.status in PERMANENT:
                record = await self._store.record(ask.request.target.url)
                decision = remembered(decision, was_feed=record is not None and record.feed is not None)
            return await self._relay(context, ask, rule, fetched, self._admitted(decision, ask, fetched), flight)
        fetched.close()
        if isinstance(decision, Again):
            return await self._contact(context, unconditional(ask), rule, flight)
        if isinstance(decision, Fallback):
            answer = await self._fallback(context, ask, decision, fetched.head.status)
            return answer or self._sending.refused(context, 502, Failure.MALFORMED)
        return await self._confirmed(context, ask, rule, decision, flight)

    def _admitted(self, relay: Relay, ask: Ask, fetched: Fetched) -> Relay:
        """What is to become of an answer, for one that comes from this machine or is one too many."""
        if relay.draft is None:
            return relay
        domain = registrable_domain(ask.request.target.host)
        if ask.fwd is Fwd.URI_MISS and not self._new_objects.admits(domain, self._clock.now()):
            return Relay(relay.head, why_not_stored=TOO_MANY)
        return replace(relay, draft=replace(relay.draft, local=fetched.local, range=fetched.range))

    async def _failed(self, context: RequestContext, ask: Ask, rule: DomainRule, error: OriginError) -> Answer:
        fallback = on_failure(ask, rule, self._clock.now())
        answer = None if fallback is None else await self._fallback(context, ask, fallback, None)
        status = {Failure.TIMEOUT: 504, Failure.UPLOAD: 408}.get(error.failure, 502)
        return answer or self._sending.refused(context, status, error.failure, str(error))

    async def _fallback(
        self, context: RequestContext, ask: Ask, fallback: Fallback, status: int | None
    ) -> Answer | None:
        """Serve a copy in place of the answer that the origin did not give."""
        body = await self._stored.of(fallback.copy)
        if body is None:
            return None
        reuse = fallback.reuse
        context.outcome, context.reason, context.ttl_s = Outcome.STALE, reuse.reason, reuse.ttl_s
        member = cache_status.forwarded(ask.fwd, fwd_status=status, ttl_s=reuse.ttl_s, detail=reuse.reason)
        return self._sending.from_copy(context, fallback.copy, body, member)

    async def _confirmed(
        self, context: RequestContext, ask: Ask, rule: DomainRule, decision: Confirmed, flight: Flight
    ) -> Answer:
        copy = decision.copy
        body = await self._stored.of(copy)
        if body is None:
            return await self._contact(context, unconditional(ask), rule, flight)
        learnt = await self._collecting.learn(
            observed_unchanged(ask.request, copy, rule, decision.reported), context
        )
        if decision.keep is Keep.RENEWED:
            copy = await self._evaluator.evaluated(copy, learnt.record, rule)
            for renewed in (copy, *decision.others):
                self._store.put(renewed, None)
            flight.land(Arrived(copy, body))
        elif decision.keep is Keep.DROPPED:
            self._store.drop(copy.url)
        context.outcome = Outcome.VALIDATED
        context.reason, context.ttl_s = prospect(ask.request, copy, rule, self._clock.now())
        kept = decision.keep is Keep.RENEWED
        context.facts.update(unnecessary=True, stored=kept)
        member = cache_status.forwarded(ask.fwd, fwd_status=304, ttl_s=context.ttl_s, stored=kept, detail=ask.detail)
        return self._sending.from_copy(context, copy, body, member)

    async def _relay(
        self, context: RequestContext, ask: Ask, rule: DomainRule, fetched: Fetched, relay: Relay, flight: Flight
    ) -> Answer:
        """Pass an answer on, collecting its content on the way if it is to be kept."""
        if relay.drops:
            self._store.drop(ask.request.target.url)
        for copy in relay.replaces:
            self._store.put(copy, None)
        stores = not relay.why_not_stored
        if not ask.bypass:
            context.outcome = Outcome.MISS if ask.chosen is None else _outcome(ask.chosen, relay)
        context.reason = ask.detail or relay.why_not_stored or ask.fwd
        context.facts.update(stored=stores, unnecessary=context.outcome is Outcome.VALIDATED)
        detail = "" if ask.fwd is Fwd.METHOD else ask.detail or relay.why_not_stored
        member = cache_status.forwarded(ask.fwd, fwd_status=fetched.head.status, stored=stores, detail=detail)
        head = heads.passed_on(relay.head, self._clock.now(), member, self._present.site)
        collected = Collected(ask.request, rule, relay)
        try:
            coming = await self._coming(context, ask, fetched, collected, flight)
        except OriginError as error:
            return await self._failed(context, ask, rule, error)
        content = coming.content
        if coming.is_whole:
            kept = collected.copy if context.facts["stored"] else None
            flight.land(None if kept is None or coming.body is None else Arrived(kept, coming.body))
            size = context.received_bytes
            if "content-length" not in head.fields:
                head = replace(head, fields=head.fields.replaced("Content-Length", str(size)))
            head, content = as_feed(context, head, content, size, collected.copy)
        # Who was asked for a part and sends the whole either has no parts or finds the client's out of date: to be seen
        # by the client. And what is not stored may be too long to make anyone wait for a part of it.
        cuttable = stores and "range" not in ask.sent.fields
        send = self._sending.arriving if cuttable else self._sending.answer
        answer = send(context, head, content)
        answer.release.append(coming.release)
        return answer

    async def _coming(
        self, context: RequestContext, ask: Ask, fetched: Fetched, collected: Collected, flight: Flight
    ) -> "_Coming":
        """The content, as soon as the answer can begin; others may join from then on. Raises OriginError."""
        rule, relay, chunks, awaited = collected.rule, collected.relay, fetched.chunks, False
        stores = not relay.why_not_stored
        is_short = not ask.bypass and fetched.length is not None and fetched.length <= WHOLE_BYTES
        must_be_whole = is_short or self._must_be_whole(ask, rule, fetched)
        release: Callable[[], object] = fetched.close
        try:
            if is_awaited(ask.request, relay, rule):
                start, awaited = await begun(chunks, relay.head)
                chunks = resumed(start, chunks)
            if not (stores or awaited):
                flight.land(None)
                if is_short or not must_be_whole:
                    content = self._collecting.passed(context, fetched, chunks, collected)
                    if not is_short:
                        return _Coming(content, release)
                    return _Coming(b"".join([chunk async for chunk in content]), release, is_whole=True)
            spool = Spool(self._present.site.max_cached_body, self._budget)
            reader = spool.join()
            content, release = spool.read(reader), lambda: spool.leave(reader)
            context.filling = self._spawn(self._collecting.collect(context, fetched, chunks, collected, spool))
            whole = awaited and await spool.settled(FEED_PATIENCE_S)
            if stores and relay.draft is not None and not whole:
                flight.land(Arriving(relay.draft, spool, fits=fetched.length is not None))
            whole = whole or (must_be_whole and await spool.settled())
            if whole or must_be_whole:
                spool.raise_error()
        except BaseException:  # no answer will be there to let go of it
            release()
            raise
        body = spool.body if whole else None
        return _Coming(body if isinstance(body, bytes) else content, release, body, is_whole=whole)

    def _must_be_whole(self, ask: Ask, rule: DomainRule, fetched: Fetched) -> bool:
        """Whether the content is awaited before anything is sent: a copy would stand in for it."""
        fits = fetched.length is not None and fetched.length <= self._present.site.max_cached_body
        return fits and on_failure(ask, rule, self._clock.now()) is not None

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("an answer could not be kept: this is a fault in bestbefore", exc_info=task.exception())


def _outcome(validated: Copy, relay: Relay) -> Outcome:
    """What came when a copy was to be validated: another state of the object, no word about it, or that it is current
    (the answer to a HEAD)."""
    if relay.replaces and not any(copy.outdated for copy in relay.replaces):
        return Outcome.VALIDATED
    status = relay.head.status
    is_state = status < 300 or status in GONE or status == validated.head.status or not relay.why_not_stored
    return Outcome.UPDATED if is_state and shows_object(status) else Outcome.PASSED_ON
