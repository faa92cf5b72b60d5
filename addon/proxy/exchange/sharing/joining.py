"""Request collapsing: one contact for all clients that request the same object at the same time."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.engine.sharing import is_shareable, may_join
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.contacts import Contacts
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.sharing.flight import (
    AbandonedResult,
    CopyResult,
    FailedResult,
    Flight,
    Flights,
    PartsResult,
    SharedResult,
    StreamingResult,
)
from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import HitForMiss
from bestbefore.addon.proxy.exchange.sharing.peers import PeerContacts, end_lease, has_copy
from bestbefore.addon.proxy.exchange.sharing.rest_reader import RestReader
from bestbefore.addon.proxy.exchange.sharing.spool import Arriving
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.caching.vary import Values
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.contacts.keeper import ContactName
from bestbefore.addon.store.contacts.leases import ContactLease
from bestbefore.addon.store.store import Store


@dataclass(frozen=True, slots=True)
class RequestJoiner:
    """Lets a request start a contact, or join one in progress."""

    clock: Clock
    store: Store
    active: ActiveConfig
    answers: AnswerBuilder
    contacts: Contacts
    flights: Flights
    hit_for_miss: HitForMiss

    @property
    def _peers(self) -> PeerContacts:
        contacts = self.contacts
        return PeerContacts(self.clock, self.store, contacts.stored, contacts.parts, self.hit_for_miss)

    def contact_name(self, request: Request, rule: DomainRule) -> ContactName | None:
        """Return the name of the contact that a request would begin for all processes; None if it would not."""
        if not self.store.contact_leases.has_peers or not may_join(request, rule):
            return None
        variant = self.hit_for_miss.variant(request)
        if variant is None or self.flights.of(request, variant) is not None:
            return None
        return self._peers.name(request, variant)

    async def ask(self, contact: Contact) -> Answer:
        """Return the answer of a contact with the origin: the request's own, or one that it joins."""
        ask = contact.ask
        contact.context.record.would_differ = "hit" if ask.override_would_serve else ""
        variant = self.hit_for_miss.variant(ask.request)
        if ask.bypass or variant is None or not may_join(ask.request, contact.rule):
            return await self.contacts.answer(contact, Flight())
        # A crowd's last requests may come here when the contact of the first has ended.
        arrived = await self._peers.arrived(contact, self.active.site)
        answer = None if arrived is None else await self._shared(contact, arrived)
        if answer is not None:
            return answer
        while (flight := self.flights.of(ask.request, variant)) is not None:
            joined = await self._join(contact, flight) if self._waits(ask, flight, variant) else None
            if joined is not None:
                return joined
            if not (flight.is_abandoned or flight.has_failed):
                return await self._answer(contact, Flight(), variant)
        flight = self.flights.begin(ask.request, variant)
        try:
            return await self._answer_for_all(contact, flight, variant)
        finally:
            # A flight whose content is still arriving can be joined until the content is complete.
            result = await flight.result()
            if isinstance(result, StreamingResult):
                result.spool.on_end(lambda: self.flights.end(ask.request, variant, flight))
            else:
                self.flights.end(ask.request, variant, flight)

    def _waits(self, ask: Ask, flight: Flight, variant: Values) -> bool:
        """Whether the request waits for the response to another; not if that could probably not be shared."""
        now_s = self.clock.now()
        if self.hit_for_miss.has(ask.request, variant, now_s):
            return False
        unknown = not has_copy(ask) and not flight.has_result
        return not (unknown and self.hit_for_miss.is_likely(ask.request, now_s) and flight.pass_by())

    async def _answer_for_all(self, contact: Contact, flight: Flight, variant: Values) -> Answer:
        """Return the answer of the first request of this process, by the contact of another process if there is one."""
        try:
            turn = await self._peers.turn(contact, variant, self.active.site)
        except BaseException:
            flight.set_result(AbandonedResult())
            raise
        if isinstance(turn, CopyResult | PartsResult):
            flight.set_result(turn)
            answer = await self._shared(contact, turn)
            if answer is not None:
                return answer
        try:
            return await self._answer(contact, flight, variant)
        finally:
            if isinstance(turn, ContactLease):
                end_lease(turn, contact, await flight.result(), self.clock)

    async def _answer(self, contact: Contact, flight: Flight, variant: Values) -> Answer:
        """Return the answer of the request's own contact; remember whether it could be shared."""
        try:
            return await self.contacts.answer(contact, flight)
        finally:
            head = contact.context.origin_head
            flight.set_result(AbandonedResult() if head is None else None)
            result = await flight.result()
            if isinstance(result, StreamingResult | CopyResult) and is_shareable(
                contact.ask.request, result.copy, contact.rule, self.active.site, self.clock.now()
            ):
                if isinstance(result, StreamingResult) and not result.announces_length:
                    result.spool.on_end(partial(self._remember_size, contact.ask.request, variant, result))
                else:
                    self.hit_for_miss.discard(contact.ask.request, variant, self.clock.now())
            elif head is not None and not isinstance(result, FailedResult):
                self.hit_for_miss.add(contact.ask.request, head, self.clock.now())

    def _remember_size(self, request: Request, variant: Values, result: StreamingResult) -> None:
        """Remember content that was too large to be stored: sharing it may cost slow readers the rest."""
        if result.spool.exceeds_limit:
            self.hit_for_miss.add(request, result.copy.head, self.clock.now())
        else:
            self.hit_for_miss.discard(request, variant, self.clock.now())

    def refresh(self, contact: Contact) -> None:
        """Contact the origin in the background, unless a contact for the object is in progress."""
        if not self.flights.is_in_progress(contact.ask.request):
            contact.background.spawn(self._refresh(contact))

    async def _refresh(self, contact: Contact) -> None:
        if self.flights.is_in_progress(contact.ask.request):
            return  # another refresh was spawned at the same time
        with suppress(OriginError):  # the next request will try again
            await (await self.ask(contact)).read()

    async def prefetch(self, contact: Contact) -> bool:
        """Contact the origin without a client; False if a contact for the object is in progress.

        Requests of clients do not join it, as they may reach more addresses than a prefetch. Content that is too large
        to be stored is not read to its end. Raises OriginError if the content is truncated.
        """
        if self.flights.is_in_progress(contact.ask.request):
            return False
        tasks = BackgroundTasks()
        try:
            answer = await self.contacts.answer(replace(contact, background=tasks), Flight())
            await answer.read(self.active.site.max_cached_body)
        finally:
            tasks.cancel()  # reading was given up, and there is no other reader
        return True

    async def _join(self, contact: Contact, flight: Flight) -> Answer | None:
        """Wait for the answer of another request; None if it may not answer this one."""
        is_late = flight.is_answered
        with flight.joining():
            result = await flight.result()
            if isinstance(result, StreamingResult | CopyResult | PartsResult):
                return await self._shared(contact, result, is_late=is_late)
        if isinstance(result, FailedResult) and result.reach == contact.context.reach:
            return await self.contacts.failed(contact, result.error)
        return None

    async def _shared(self, contact: Contact, result: SharedResult, *, is_late: bool = False) -> Answer | None:
        """Return the answer with the response to another request; None if that may not answer this one.

        `is_late`: whether the response was complete when this request came, so that the copy is a hit.
        """
        context, ask = contact.context, contact.ask
        received_s = None if isinstance(result, StreamingResult) else result.received_s
        use = self._peers.use_of(contact, result.copy, self.active.site, received_s)
        if use is None:
            self.hit_for_miss.select(ask.request, result.copy.head)
            return None
        if isinstance(result, StreamingResult):
            error = await result.failure()
            if error is not None:
                return await self.contacts.failed(contact, error)
            if not result.spool.can_be_joined:
                return None
        if contact.rule.counts_demand:
            for copy in result.serve.parts if isinstance(result, PartsResult) else (result.copy,):
                self.store.demand.count(copy, context.record.time_s)
        context.record.outcome, context.record.reason, context.record.ttl_s = Outcome.HIT, use.reason, use.ttl_s
        if is_late:
            member = cache_status.hit(ttl_s=use.ttl_s, detail=use.reason)
        else:
            member = cache_status.forwarded(ask.fwd, collapsed=True, detail=use.reason)
        if isinstance(result, CopyResult):
            return self.answers.from_copy(context, result.copy, result.body, member)
        rest = RestReader(self.contacts.origin, contact, result.copy.head)
        if isinstance(result, PartsResult):
            return self.answers.from_parts(context, result.serve, result.sources, member, rest.read_span)
        return self.answers.from_copy(context, result.copy, Arriving(result.spool, rest.read), member)
