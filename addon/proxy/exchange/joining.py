"""The joining of requests: one contact for all clients that ask for the same at the same time."""

from contextlib import suppress
from dataclasses import replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.sharing import may_join, shared_use
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.contacts import Contacts
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.flight import Arriving, Crashed, Flight, Flights
from bestbefore.addon.proxy.exchange.sending import Present, Sending
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.store.store import Store


class Joining:
    """Lets a request begin a contact, or wait for the answer to one that is under way."""

    def __init__(
        self, clock: Clock, store: Store, present: Present, sending: Sending, contacts: Contacts, flights: Flights
    ) -> None:
        self._clock = clock
        self._store = store
        self._present = present
        self._sending = sending
        self._contacts = contacts
        self._flights = flights

    async def ask(self, contact: Contact) -> Answer:
        """The answer of the origin, or the one that another request of the same moment gets."""
        ask = contact.ask
        contact.context.would_differ = "hit" if ask.override_would_serve else ""
        if ask.bypass or not may_join(ask.request, contact.rule):
            return await self._contacts.answer(contact, Flight())
        under_way = self._flights.of(ask.request)
        if under_way is not None:
            joined = await self._join(contact, under_way)
            return joined or await self._contacts.answer(contact, Flight())
        flight = self._flights.begin(ask.request)
        try:
            return await self._contacts.answer(contact, flight)
        finally:
            flight.land(None)
            # One whose content is still on its way can be joined until the content is there.
            landing = await flight.landing()
            if isinstance(landing, Arriving):
                landing.spool.at_end(lambda: self._flights.end(ask.request))
            else:
                self._flights.end(ask.request)

    def refresh(self, contact: Contact) -> None:
        """Ask in the background, unless that is under way already."""
        if self._flights.of(contact.ask.request) is None:
            contact.background.spawn(self._refresh(contact))

    async def _refresh(self, contact: Contact) -> None:
        with suppress(OriginError):  # the next request asks again
            await (await self.ask(contact)).read()

    async def prefetch(self, contact: Contact) -> bool:
        """Ask although no client did; False if the origin is being asked for this already, which will do.

        Clients do not wait for its answer: they may reach what a prefetch may not. What is too large to be stored is
        not read to its end. Raises OriginError if the content breaks off.
        """
        if self._flights.of(contact.ask.request) is not None:
            return False
        own = BackgroundTasks()
        try:
            answer = await self._contacts.answer(replace(contact, background=own), Flight())
            await answer.read(self._present.site.max_cached_body)
        finally:
            own.cancel()  # what was given up: no one else reads it
        return True

    async def _join(self, contact: Contact, flight: Flight) -> Answer | None:
        """The answer that another request has asked for; None if it is not for this one."""
        landing = await flight.landing()
        if landing is None:
            return None
        if isinstance(landing, Crashed):
            return await self._contacts.failed(contact, landing.error)
        context, ask = contact.context, contact.ask
        use = shared_use(
            ask.request,
            landing.copy,
            contact.rule,
            self._present.site,
            arrived_s=context.time_s,
            now_s=self._clock.now(),
        )
        if use is None or (landing.copy.local and context.restricted):
            return None
        if (isinstance(landing, Arriving) and not await landing.can_be_joined()) or self._store.is_dead(landing.copy):
            return None
        context.outcome, context.reason, context.ttl_s = Outcome.HIT, use.reason, use.ttl_s
        member = cache_status.forwarded(ask.fwd, collapsed=True, detail=use.reason)
        body = landing.spool if isinstance(landing, Arriving) else landing.body
        return self._sending.from_copy(context, landing.copy, body, member)
