"""Request collapsing: one contact for all clients that request the same object at the same time."""

from contextlib import suppress
from dataclasses import dataclass, replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.sharing import may_join, shared_use
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.contacts import Contacts
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.flight import FailedResult, Flight, Flights, StreamingResult
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.fields import cache_status
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

    async def ask(self, contact: Contact) -> Answer:
        """Return the answer of a contact with the origin: the request's own, or one that it joins."""
        ask = contact.ask
        contact.context.record.would_differ = "hit" if ask.override_would_serve else ""
        if ask.bypass or not may_join(ask.request, contact.rule):
            return await self.contacts.answer(contact, Flight())
        flight = self.flights.of(ask.request)
        if flight is not None:
            joined = await self._join(contact, flight)
            return joined or await self.contacts.answer(contact, Flight())
        flight = self.flights.begin(ask.request)
        try:
            return await self.contacts.answer(contact, flight)
        finally:
            flight.set_result(None)
            # A flight whose content is still arriving can be joined until the content is complete.
            result = await flight.result()
            if isinstance(result, StreamingResult):
                result.spool.on_end(lambda: self.flights.end(ask.request))
            else:
                self.flights.end(ask.request)

    def refresh(self, contact: Contact) -> None:
        """Contact the origin in the background, unless a contact for the object is in progress."""
        if self.flights.of(contact.ask.request) is None:
            contact.background.spawn(self._refresh(contact))

    async def _refresh(self, contact: Contact) -> None:
        with suppress(OriginError):  # the next request will try again
            await (await self.ask(contact)).read()

    async def prefetch(self, contact: Contact) -> bool:
        """Contact the origin without a client; False if a contact for the object is in progress.

        Requests of clients do not join it, as they may reach more addresses than a prefetch. Content that is too large
        to be stored is not read to its end. Raises OriginError if the content is truncated.
        """
        if self.flights.of(contact.ask.request) is not None:
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
        result = await flight.result()
        if result is None:
            return None
        if isinstance(result, FailedResult):
            return await self.contacts.failed(contact, result.error)
        context, ask = contact.context, contact.ask
        use = shared_use(
            ask.request,
            result.copy,
            contact.rule,
            self.active.site,
            arrived_s=context.record.time_s,
            now_s=self.clock.now(),
        )
        if use is None or (result.copy.local and context.restricted):
            return None
        unfit = isinstance(result, StreamingResult) and not await result.can_be_joined()
        if unfit or self.store.is_dead(result.copy):
            return None
        context.record.outcome, context.record.reason, context.record.ttl_s = Outcome.HIT, use.reason, use.ttl_s
        member = cache_status.forwarded(ask.fwd, collapsed=True, detail=use.reason)
        body = result.spool if isinstance(result, StreamingResult) else result.body
        return self.answers.from_copy(context, result.copy, body, member)
