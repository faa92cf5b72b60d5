"""Contacts with the origin: a request is sent, and the engine interprets the response."""

from dataclasses import dataclass, replace
from functools import partial

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.partial.decision import (
    Joining,
    continues,
    for_gap,
    joining,
    on_failure_with_parts,
    without_rest,
)
from bestbefore.addon.engine.response import (
    AskUnconditionally,
    Confirmed,
    Fallback,
    Keep,
    Relay,
    Times,
    is_of_new_object,
    is_permanent,
    not_admitted,
    observed,
    on_failure,
    on_response,
    remembered,
    shows_object,
)
from bestbefore.addon.engine.unvalidated.without_validator import delivery_of, lifetime_of, prospect
from bestbefore.addon.proxy.access.new_objects import NewObjects
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.collecting import AnswerCollector, ended_by, next_decision
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.dictionaries import Dictionaries
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.exchange.relaying import AnswerRelayer
from bestbefore.addon.proxy.exchange.sharing.flight import CopyResult, FailedResult, Flight
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.feeds.upstream_deltas import UpstreamDeltas
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError, Source
from bestbefore.addon.proxy.partial.stored_parts import StoredParts
from bestbefore.addon.rfc9111.caching.invalidation import invalidated, invalidated_groups
from bestbefore.addon.rfc9111.caching.reuse import Reuse
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.store.store import Store


@dataclass(frozen=True, slots=True)
class Contacts:
    """Sends requests to the origin, and makes answers of its responses."""

    clock: Clock
    store: Store
    origin: Source
    evaluator: ExpiryEvaluator
    active: ActiveConfig
    answers: AnswerBuilder
    stored: StoredContent
    collector: AnswerCollector
    relayer: AnswerRelayer
    parts: StoredParts
    new_objects: NewObjects
    dictionaries: Dictionaries
    deltas: UpstreamDeltas

    async def answer(self, contact: Contact, flight: Flight) -> Answer:
        """Return the answer, after one contact or two. The flight shares the answer with joined requests."""
        context, ask, rule = contact.context, contact.ask, contact.rule
        context.record.contact, context.record.validation = True, ask.chosen is not None
        context.record.because = ask.because
        if ask.bypass:
            context.record.outcome = Outcome.BYPASS
        try:
            fetched = await self._fetched(contact)
        except OriginError as error:
            flight.set_result(FailedResult(error, context.reach))
            return await self.failed(contact, error)
        context.origin_head = fetched.head
        context.record.encoding = fetched.head.fields.get("content-encoding") or ""
        for url in invalidated(ask.request, fetched.head):
            self.store.drop(url)
        self.store.drop_groups(invalidated_groups(ask.request, fetched.head))
        if ask.rest is not None:
            stale = await self._parts_instead(contact, fetched.head.status) if fetched.head.status >= 500 else None
            if stale is not None:
                fetched.close()
                return stale
            joins = joining(ask, fetched.head)
            further = partial(self._further, contact, fetched)
            is_rest = joins is Joining.COMBINED
            whole = await self.parts.combined(ask.rest, ask.request, fetched, further) if is_rest else None
            if whole is None and joins is not Joining.FORWARDED:
                fetched.close()
                return await self.answer(replace(contact, ask=without_rest(ask)), flight)
            fetched = whole or fetched
        times = Times(fetched.request_time_s, fetched.response_time_s)
        decision = on_response(ask, fetched.head, times, rule, self.active.site)
        if isinstance(decision, Relay):
            relay = await self._admitted(decision, contact, fetched)
            try:
                return await self.relayer.answer(contact, fetched, relay, flight)
            except OriginError as error:
                return await self.failed(contact, error)
        fetched.close()
        if isinstance(decision, AskUnconditionally):
            return await self.answer(contact.without_conditions(), flight)
        if isinstance(decision, Fallback):
            answer = await self._fallback(contact, decision, fetched.head.status)
            return answer or self.answers.refused(context, Failure.MALFORMED.status, Failure.MALFORMED)
        return await self._confirmed(contact, decision, flight)

    async def _fetched(self, contact: Contact) -> Fetched:
        """Return the origin's response: whole, though it be coded with an offered dictionary, or a delta of a feed.

        Raises OriginError.
        """
        reach, interim = contact.context.reach, contact.interim
        has_content = contact.upload is not None
        offer = None if has_content else await self.dictionaries.offer(contact.ask, reach, self.clock.now())
        if offer is not None:
            fetched = await self.origin.fetch(offer.request, reach=reach, interim=interim)
            decoded = await self.dictionaries.decoded(offer, fetched)
            if decoded is not None:
                return decoded
        accepts = None if has_content or offer is not None else self.deltas.offer(
            contact.ask, contact.rule, self.clock.now()
        )
        if accepts is not None:
            fetched = await self.origin.fetch(accepts.request, reach=reach, interim=interim)
            whole = await self.deltas.taken(accepts, fetched)
            if whole is not None:
                return whole
        return await self.origin.fetch(contact.ask.sent, reach=reach, interim=interim, upload=contact.upload)

    async def _further(self, contact: Contact, first: Fetched, gap: Span) -> Fetched:
        """Return the origin's response for a further missing span of stored parts. Raises OriginError if it changed."""
        ask = for_gap(contact.ask, gap)
        fetched = await self.origin.fetch(ask.sent, reach=contact.context.reach)
        times = Times(fetched.request_time_s, fetched.response_time_s)
        fits = continues(ask, fetched.head, first.head, times, contact.rule, self.active.site)
        if fits and (fetched.local, fetched.range) == (first.local, first.range):
            return fetched
        fetched.close()
        if shows_object(fetched.head.status):
            self.store.drop(ask.request.target.url)
        raise OriginError(Failure.RESET, "the content changed while it was fetched")

    async def _admitted(self, relay: Relay, contact: Contact, fetched: Fetched) -> Relay:
        """Return the decision on a response, adjusted for its object's history and the address that it came from."""
        target = contact.ask.request.target
        if is_permanent(relay.head):
            record = await self.store.record(target.url)
            relay = remembered(relay, was_feed=record is not None and record.feed is not None)
        draft = relay.draft
        if draft is None:
            return relay
        relay = await self._learning(relay, draft, contact)
        domain = registrable_domain(target.host)
        if is_of_new_object(contact.ask, relay) and not self.new_objects.admits(domain, self.clock.now()):
            return not_admitted(relay)
        return replace(relay, draft=draft.changed(local=fetched.local, range=fetched.range))

    async def _learning(self, relay: Relay, draft: Copy, contact: Contact) -> Relay:
        """Return the decision on a response without validator, with what its object's history says of storing it."""
        rule, client = contact.rule, contact.context.client_hash
        delivery = delivery_of(contact.ask.request, relay, rule, client)
        if delivery is None:
            return relay
        record = await self.store.record(draft.url)
        lifetime_s = lifetime_of(await self.evaluator.evaluated(draft, record, rule))
        return prospect(relay, draft, replace(delivery, lifetime_s=lifetime_s), record)

    async def failed(self, contact: Contact, error: OriginError) -> Answer:
        """Return the answer after a failure of the origin: a stale copy, or an error."""
        fallback = on_failure(contact.ask, contact.rule, self.clock.now())
        if fallback is None:
            answer = await self._parts_instead(contact, None)
        else:
            answer = await self._fallback(contact, fallback, None)
        return answer or self.answers.failed(contact.context, error)

    async def _fallback(self, contact: Contact, fallback: Fallback, status: int | None) -> Answer | None:
        """Return a stale copy as the answer; None if its content is gone."""
        body = await self.stored.of(fallback.copy)
        if body is None:
            return None
        member = _note_stale(contact, fallback.reuse, status)
        return self.answers.from_copy(contact.context, fallback.copy, body, member)

    async def _parts_instead(self, contact: Contact, status: int | None) -> Answer | None:
        """Return stored parts as the answer after a failure of the origin; None if they may not be served."""
        serve = on_failure_with_parts(contact.ask, contact.rule, self.clock.now())
        sources = None if serve is None else await self.parts.sources(serve.parts)
        if serve is None or sources is None:
            return None
        member = _note_stale(contact, serve.reuse, status)
        return self.answers.from_parts(contact.context, serve, sources, member)

    async def _confirmed(self, contact: Contact, decision: Confirmed, flight: Flight) -> Answer:
        """Return the copy that the origin has confirmed as the answer."""
        context, ask, rule, copy = contact.context, contact.ask, contact.rule, decision.copy
        body = await self.stored.of(copy)
        if body is None:
            return await self.answer(contact.without_conditions(), flight)
        learnt = await self.collector.learn(observed(ask.request, copy, None, rule, decision.reported), context, copy)
        is_kept = decision.keep is Keep.RENEWED
        if is_kept:
            copy = copy.changed(because=ask.because)
            copy = await self.evaluator.evaluated(
                copy, learnt.record, rule, context.requested_s, ended_by(contact, "")
            )
            for renewed in (copy, *decision.others):
                self.store.put(renewed, None)
            flight.set_result(CopyResult(copy, body))
        elif decision.keep is Keep.DROPPED:
            self.store.drop(copy.url)
        reason, ttl_s = next_decision(ask.request, copy, rule, self.clock.now())
        context.record.outcome, context.record.reason, context.record.ttl_s = Outcome.VALIDATED, reason, ttl_s
        context.record.unnecessary, context.record.stored = True, is_kept
        member = cache_status.forwarded(ask.fwd, fwd_status=304, ttl_s=ttl_s, stored=is_kept, detail=ask.detail)
        return self.answers.from_copy(context, copy, body, member)


def _note_stale(contact: Contact, reuse: Reuse, status: int | None) -> str:
    """Record that a stored response answers as the origin failed; return the proxy's member of Cache-Status."""
    record = contact.context.record
    record.outcome, record.reason, record.ttl_s = Outcome.STALE, reuse.reason, reuse.ttl_s
    return cache_status.forwarded(contact.ask.fwd, fwd_status=status, ttl_s=reuse.ttl_s, detail=reuse.reason)
