"""Leases of contacts: of several processes that need an object at the same moment, one contacts the origin.

The others wait until its response is stored, or is known not to be shareable. A lease ends some time after its process
has ended (`LEASE_S`); while the backend is down there are none.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from bestbefore.addon.store.backend.interface import Backend, CommandError, CopySet, UnavailableError, UnwritableError
from bestbefore.addon.store.cache.copies import Copies
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import log
from bestbefore.addon.store.cache.write_behind import any_of
from bestbefore.addon.store.contacts.keeper import AskedLease, BegunContact, ContactName, EndedLease

LEASE_S = 2.0
"""How long a lease lasts that is not renewed: after a process was killed in the middle of a contact, others make
contacts of their own so much later."""
RENEW_S = 0.5
"""How often leases are renewed."""
RECEIVED_MAX = 1024
"""Of how many contacts of other processes the time of receipt is known: of those that ended last."""


@dataclass(slots=True, eq=False)
class ContactLease:
    """The lease of a contact that this process makes. Must be ended."""

    name: ContactName
    token: str
    end_with: Callable[["ContactLease", bool], None]
    is_awaited: bool = False
    """Whether another process is known to wait for it."""
    is_shareable: bool = True
    """Whether the response to the contact is, once that has ended."""
    is_used: bool = True
    """Whether there was a contact."""
    ahead_s: float | None = None
    """By how much the clock of the backend is ahead of the monotonic clock, at least; None if that is not known."""
    received_s: float | None = None
    """When the response was received at the earliest, by the clock of the backend; None if that is not known."""

    def end(self, *, is_shareable: bool, received_s: float | None = None) -> None:
        """End it: those who wait find the response in the store or, if it is not shareable, make contacts of their own.

        Only the first call counts. `received_s`: when the response was received, by the monotonic clock.
        """
        if received_s is not None and self.ahead_s is not None:
            self.received_s = received_s + self.ahead_s
        self.end_with(self, is_shareable)


class ContactLeases:
    """The leases that this process holds or waits for."""

    def __init__(self, link: Link, copies: Copies, monotonic: Callable[[], float], *, has_peers: bool) -> None:
        self._link = link
        self._copies = copies
        self._monotonic = monotonic
        self.has_peers = has_peers
        self._process = os.urandom(8).hex()
        self._number = 0
        self._held: dict[str, ContactLease] = {}
        """By digest, as are the following."""
        self._asked: dict[str, asyncio.Future[None]] = {}
        """Those that are being asked for with a look-up: done when it has ended."""
        self._early: dict[str, ContactLease] = {}
        """Those that were taken with a look-up, until a contact uses them: of whatever request, as one makes it."""
        self._ended: dict[str, ContactLease] = {}
        """Those that are to be ended in the backend, after what was stored in their time."""
        self._waiters: dict[str, set[asyncio.Future[bool]]] = {}
        self._received_s: dict[str, float] = {}
        """When the responses to contacts for which a process waited were received, by the clock of the backend."""
        self._renewing: asyncio.Task[None] | None = None
        link.backend.contacts.on_awaited = self._awaited
        link.backend.contacts.on_ended = self._on_ended
        link.on_down.append(self._on_down)

    def ask(self, name: ContactName, *, despite_copies: bool) -> AskedLease | None:
        """Return what to ask for with a look-up, to make the contact without asking again; then `asked` must follow.

        None if the process has it, or is asking for it.
        """
        digest = name.digest
        is_asked = digest in self._asked or digest in self._waiters or digest in self._held or digest in self._ended
        if is_asked or not self.has_peers or self._link.down:
            return None
        self._asked[digest] = asyncio.get_running_loop().create_future()
        return AskedLease(name, self._token(), LEASE_S, despite_copies)

    def asked(self, asked: AskedLease, taken_s: float | None, *, is_known: bool) -> ContactLease | None:
        """Return the lease that was taken with a look-up, for `drop_unused`; None if another process has it.

        `taken_s`: when it was, by the clock of the backend; None if it was not. `is_known`: whether that is known; if
        the look-up did not end, the lease is given back.
        """
        digest = asked.name.digest
        self._asked.pop(digest).set_result(None)
        if is_known and taken_s is None:
            return None
        lease = self._early[digest] = self._take(asked.name, asked.token, taken_s)
        if not is_known:
            self.drop_unused(lease)
        return lease

    def drop_unused(self, lease: ContactLease | None) -> None:
        """End a lease that was taken with a look-up, unless a contact has used it."""
        if lease is not None and self._early.get(lease.name.digest) is lease:
            del self._early[lease.name.digest]
            self._give_back(lease)

    def _token(self) -> str:
        self._number += 1
        return f"{self._process}.{self._number}"

    async def turn[T](
        self,
        name: ContactName,
        partition: str,
        choose: Callable[[CopySet, float | None], Awaitable[T | None]],
        patience_s: float,
    ) -> T | ContactLease | None:
        """Wait while other processes contact the origin for an object, and return what is chosen of their copies.

        `choose` gets copies, and when the response to the last contact was received at the earliest, by the monotonic
        clock of this process, whatever the clock of the other shows; None if that is not known.

        Returns a lease if this process is to make the contact for all; None if it is to make one for itself: the
        response cannot be shared, the wait takes longer than `patience_s`, or the backend is down.
        """
        end_s = self._monotonic() + patience_s
        while self.has_peers and not self._link.down:
            if name.digest in self._asked:  # by another request of this process
                await asyncio.shield(self._asked[name.digest])
            again = self._early.pop(name.digest, None) or self._again(name)
            if again is not None:
                return again
            token = self._token()
            ended = asyncio.get_running_loop().create_future()
            asked_s = self._monotonic()
            # Before the backend is asked, as it may end meanwhile.
            self._waiters.setdefault(name.digest, set()).add(ended)
            try:
                begun = await self._ask(partial(_begin, name, token))
                if begun is None:
                    return None
                lease = self._take(name, token, begun.time_s) if begun.is_ours else None
                received_s = self._received_s.get(name.digest)
                if received_s is not None:
                    received_s -= begun.time_s - asked_s
                try:
                    chosen = await choose(self._copies.found(name.url, partition, begun.copies), received_s)
                except BaseException:
                    self._give_back(lease)
                    raise
                if chosen is not None:
                    self._give_back(lease)
                    return chosen
                if lease is not None:
                    return lease
                wait_s = min(begun.remaining_s, end_s - self._monotonic())
                if wait_s <= 0 or await _result(ended, wait_s) is False:
                    return None
            finally:
                self._leave(name.digest, ended)
        return None

    async def _ask[T](self, ask: Callable[[Backend], Awaitable[T]]) -> T | None:
        """Return the reply of the backend; None if it is down, or refuses writes: it may be read from even so."""
        if self._link.down:
            return None
        try:
            return await ask(self._link.backend)
        except UnavailableError as e:
            self._link.mark_down(e)
        except (UnwritableError, CommandError) as e:
            log.debug("no lease of a contact: %s", e)
        return None

    def _again(self, name: ContactName) -> ContactLease | None:
        """Return the lease of the last contact, which is not ended in the backend yet, if no other process waits."""
        lease = self._ended.get(name.digest)
        if lease is None or lease.is_awaited or not lease.is_used:
            return None
        del self._ended[name.digest]
        lease = self._held[name.digest] = ContactLease(name, lease.token, self._end, ahead_s=lease.ahead_s)
        return lease

    def _take(self, name: ContactName, token: str, taken_s: float | None) -> ContactLease:
        ahead_s = None if taken_s is None else taken_s - self._monotonic()
        lease = self._held[name.digest] = ContactLease(name, token, self._end, ahead_s=ahead_s)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        return lease

    def _give_back(self, lease: ContactLease | None) -> None:
        if lease is not None:
            lease.is_used = False
            lease.end(is_shareable=True)

    def _leave(self, digest: str, ended: asyncio.Future[bool]) -> None:
        waiters = self._waiters[digest]
        waiters.discard(ended)
        if not waiters:
            del self._waiters[digest]

    def _awaited(self, digest: str) -> None:
        lease = self._held.get(digest) or self._ended.get(digest)
        if lease is not None:
            lease.is_awaited = True
            if digest in self._ended:
                self._link.wake(hurry=True)

    def _on_ended(self, digest: str, is_shareable: bool, received_s: float | None = None) -> None:
        if received_s is not None:
            self._received_s.pop(digest, None)
            self._received_s[digest] = received_s
            if len(self._received_s) > RECEIVED_MAX:
                del self._received_s[next(iter(self._received_s))]
        for waiter in self._waiters.get(digest, ()):
            if not waiter.done():
                waiter.set_result(is_shareable)

    def _on_down(self) -> None:
        for digest in list(self._waiters):
            self._on_ended(digest, is_shareable=False)

    def _end(self, lease: ContactLease, is_shareable: bool) -> None:
        if self._held.get(lease.name.digest) is not lease:
            return
        del self._held[lease.name.digest]
        if not self._link.down:  # else it ends by itself
            lease.is_shareable = is_shareable
            self._ended[lease.name.digest] = lease
            self._link.wake(hurry=lease.is_awaited)

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(RENEW_S)
            # Not those that have ended: who waits must not do so for as long as the backend refuses to write the copy.
            leases = [(one.name, one.token) for one in self._held.values()]
            if leases:
                await self._ask(partial(_renew, leases))

    def close(self) -> None:
        """Renew no more leases."""
        if self._renewing is not None:
            self._renewing.cancel()

    # Written behind, after the copies.

    @property
    def waiting(self) -> int:
        """How many leases are to be ended; while the backend is down they end by themselves."""
        return 0 if self._link.down else len(self._ended)

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the leases that are to be ended now is still to be."""
        ended = list(self._ended.values())
        return any_of(ended, lambda one: self._ended.get(one.name.digest) is one)

    async def write(self, backend: Backend) -> None:
        """End leases, except those of objects with pending copies. One that cannot be ended ends by itself.

        Raises UnavailableError, UnwritableError.
        """
        due = [one for one in self._ended.values() if not self._copies.is_waiting(one.name.url)]
        for lease in due:
            del self._ended[lease.name.digest]
        try:
            await backend.contacts.end(
                [EndedLease(one.name, one.token, one.is_shareable, one.received_s) for one in due]
            )
        except CommandError as e:
            log.debug("leases of contacts cannot be ended: %s", e)


async def _begin(name: ContactName, token: str, backend: Backend) -> BegunContact:
    return await backend.contacts.begin(name, token, LEASE_S)


async def _renew(leases: Sequence[tuple[ContactName, str]], backend: Backend) -> None:
    await backend.contacts.renew(leases, LEASE_S)


async def _result(ended: asyncio.Future[bool], within_s: float) -> bool | None:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            return await ended
    return None
