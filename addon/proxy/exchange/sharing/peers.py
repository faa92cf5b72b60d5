"""Contacts of other processes on the store: of several that need an object, one contacts the origin for all."""

import asyncio
import math
from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.partial.decision import on_awaited_parts
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.engine.sharing import PATIENCE_S, range_fields, shared_use
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.sharing.flight import CopyResult, FlightResult, PartsResult, StreamingResult
from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import HitForMiss
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.partial.stored_parts import StoredParts
from bestbefore.addon.rfc9111.caching.reuse import CLOCK_TOLERANCE_S, Reuse
from bestbefore.addon.rfc9111.caching.vary import Values, choose
from bestbefore.addon.rfc9111.conditional.parts import partition_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import CopySet
from bestbefore.addon.store.contacts.keeper import ContactName
from bestbefore.addon.store.contacts.leases import ContactLease
from bestbefore.addon.store.store import Store

CONTENT_S = 1.0
"""How long other processes wait, after the head of a response, for its content, which they find in the store when it is
complete; real seconds. Then they make contacts of their own."""


@dataclass(frozen=True, slots=True)
class PeerContacts:
    """Takes part in the contacts of other processes."""

    clock: Clock
    store: Store
    stored: StoredContent
    parts: StoredParts
    hit_for_miss: HitForMiss

    def name(self, request: Request, variant: Values, *, has_copies: bool = False) -> ContactName | None:
        """Return the name of a contact for all processes; None if its response can probably not be shared.

        Requests with credentials share nothing. `has_copies`: so the response could be shared before.
        """
        now_s = self.clock.now()
        ranged = range_fields(request)
        if ranged is None or self.hit_for_miss.has(request, variant, now_s):
            return None
        if not has_copies and self.hit_for_miss.is_likely(request, now_s):
            return None
        return ContactName.of(request.target.url, request.partition, variant, ranged)

    async def turn(
        self, contact: Contact, variant: Values, site: Site
    ) -> CopyResult | PartsResult | ContactLease | None:
        """Return what another process has got, after waiting for it, or the lease to make this contact.

        None: the contact is for this process alone.
        """
        request = contact.ask.request
        if contact.upload is not None or not self.store.contact_leases.has_peers:
            return None
        name = self.name(request, variant, has_copies=has_copy(contact.ask))
        if name is None:
            return None

        known: set[tuple[float, str]] | None = None
        may_use_parts = "range" in request.fields

        received: float | None = None

        def reuse_of(copy: Copy) -> Reuse | None:
            # Clocks may differ: only what was stored during the wait can be newer than the request.
            if copy.rule != contact.rule.key:
                return None
            return self.use_of(contact, copy, site, -math.inf if _identity(copy) in (known or ()) else received)

        async def choose(copies: CopySet, received_s: float | None) -> CopyResult | PartsResult | None:
            nonlocal known, received
            received = received_s
            parts: list[Copy] = []
            if may_use_parts and copies.may_have_parts:
                in_parts = await self.store.copies(request.target.url, partition_of(request.partition))
                parts = [part for part in in_parts.copies if self._may_be_used(contact, part)]
            if known is None:
                known = {_identity(copy) for copy in (*(contact.context.found or copies).copies, *parts)}
            for copy in copies.copies:
                if reuse_of(copy) is not None:
                    body = await self.stored.of(copy)
                    if body is not None:
                        return CopyResult(copy, body, received_s)
            serve = on_awaited_parts(request, parts, copies.copies, site, reuse_of)
            sources = None if serve is None else await self.parts.sources(serve.parts)
            return None if serve is None or sources is None else PartsResult(serve, sources, received_s)

        return await self.store.contact_leases.turn(name, request.partition, choose, PATIENCE_S)

    async def arrived(self, contact: Contact, site: Site) -> CopyResult | None:
        """Return a response in memory that may answer a request, and has arrived since its decision; None if none has.

        Requests with credentials or a range have none.
        """
        request = contact.ask.request
        in_memory = self.store.hot(request.target.url, request.partition)
        if in_memory is None or contact.upload is not None or range_fields(request) != ():
            return None
        known = {_identity(copy) for copy in (*contact.ask.candidates, *contact.context.decided_on)}
        copy = choose(in_memory.copies, request.fields, site.salt)
        if copy is None or _identity(copy) in known or copy.rule != contact.rule.key:
            return None
        # Clocks may differ: a copy of another process may be older than the request although it bears a later time.
        received_s = -math.inf if self.store.contact_leases.has_peers else None
        body = None if self.use_of(contact, copy, site, received_s) is None else await self.stored.of(copy)
        return None if body is None else CopyResult(copy, body, received_s)

    def use_of(self, contact: Contact, copy: Copy, site: Site, received_s: float | None = None) -> Reuse | None:
        """Decide on the reuse of another request's response for this one, which waited for it; None if not allowed.

        `received_s`: when it was received, by the monotonic clock of this process; whether that is after the request
        decides if it has no remaining lifetime. None: by the time that the copy bears.
        """
        now_s, arrived_s = self.clock.now(), contact.context.record.time_s
        if received_s is not None:
            arrived_s = -math.inf if received_s >= _monotonic_s(arrived_s, self.clock) else math.inf
        if not self._may_be_used(contact, copy) or copy.response_time_s > now_s + CLOCK_TOLERANCE_S:
            return None
        return shared_use(
            contact.ask.request,
            copy,
            contact.rule,
            site,
            arrived_s=arrived_s,
            now_s=now_s,
        )

    def _may_be_used(self, contact: Contact, copy: Copy) -> bool:
        """Whether a client may get a copy, or a part, and nothing has invalidated it."""
        return not ((copy.local and contact.context.restricted) or self.store.is_dead(copy))


def end_lease(lease: ContactLease, contact: Contact, result: FlightResult, clock: Clock) -> None:
    """End the lease of a contact with this result, as soon as its content is complete, or takes too long."""
    if isinstance(result, StreamingResult):
        late = asyncio.get_running_loop().call_later(CONTENT_S, lambda: lease.end(is_shareable=False))

        def ended() -> None:
            late.cancel()
            received_s = _monotonic_s(result.copy.response_time_s, clock)
            lease.end(is_shareable=contact.context.record.stored, received_s=received_s)

        result.spool.on_end(ended)
    elif isinstance(result, CopyResult):
        lease.end(is_shareable=True, received_s=_monotonic_s(result.copy.response_time_s, clock))
    else:
        lease.end(is_shareable=False)


def _monotonic_s(time_s: float, clock: Clock) -> float:
    """Return a past moment of policy time by the monotonic clock."""
    return clock.monotonic() - clock.to_real_s(max(0.0, clock.now() - time_s))


def _identity(copy: Copy) -> tuple[float, str]:
    return copy.response_time_s, copy.body.digest


def has_copy(ask: Ask) -> bool:
    """Whether there are copies of an object, so that its response could be shared before."""
    return ask.chosen is not None or bool(ask.candidates)
