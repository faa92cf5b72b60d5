"""A shared fetch: one contact for several requests, and its content for all of them."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bestbefore.addon.engine.partial.decision import ServeParts
from bestbefore.addon.engine.sharing import Distinctions, distinctions, patience_s
from bestbefore.addon.proxy.access.reach import Reach
from bestbefore.addon.proxy.exchange.pieces import Stored
from bestbefore.addon.proxy.exchange.sharing.spool import Spool
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.caching.vary import Values
from bestbefore.addon.rfc9111.conditional.parts import as_complete
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import Body

PASSED = 7
"""How many requests make contacts beside one in progress if its response can probably not be shared. More of them wait
for it: the judgement by other objects may be wrong."""


@dataclass(frozen=True, slots=True)
class StreamingResult:
    """The result that the response may be shared while its content is still arriving."""

    copy: Copy
    spool: Spool
    whole_first: bool = False
    """Whether the answers begin when the content is complete: if it breaks off, a copy or an error can replace it."""

    async def failure(self) -> OriginError | None:
        """Return the error if the content has broken off before an answer begins."""
        if self.whole_first:
            await self.spool.is_collected()
        return self.spool.error if self.whole_first else None

    @property
    def announces_length(self) -> bool:
        """Whether the length of the content is known. Then it is within the limit."""
        return "content-length" in self.copy.head.fields


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result that a copy can answer: it was confirmed, or has arrived completely."""

    copy: Copy
    body: Body
    received_s: float | None = None
    """When another process received it, at the earliest, by the monotonic clock of this one; None if that is not known,
    or this process has received it."""


@dataclass(frozen=True, slots=True)
class PartsResult:
    """The result that stored parts can answer: another process has fetched the range."""

    serve: ServeParts
    sources: Sequence[tuple[Span, Stored]]
    """Their contents."""
    received_s: float | None
    """As that of a `CopyResult`."""

    @property
    def copy(self) -> Copy:
        """The copy whose reuse decides: the part received last, as if it were complete."""
        return as_complete(self.serve.parts[0], self.serve.size)


@dataclass(frozen=True, slots=True)
class FailedResult:
    """The result that the contact failed."""

    error: OriginError
    reach: Reach
    """The addresses that it might connect to. Where others may be reached, it could have ended otherwise."""


@dataclass(frozen=True, slots=True)
class AbandonedResult:
    """The result that there was no response, as the contact was cancelled: a joined request begins another."""


type SharedResult = StreamingResult | CopyResult | PartsResult
type FlightResult = SharedResult | FailedResult | AbandonedResult | None
"""The result of a flight for the requests that joined it; None: each must contact the origin itself."""


class Flight:
    """A contact in progress, which other requests can join."""

    def __init__(self) -> None:
        self._result: asyncio.Future[FlightResult] = asyncio.get_running_loop().create_future()
        self._waiting = 0
        """How many requests have waited for the result."""
        self._joining = 0
        """How many wait for it, or decide on it."""
        self._passed = 0
        """How many have not waited for it, judging by other objects."""
        self._place: object = None
        """A reader of the content in their place."""
        self.is_answered = False
        """Whether its own client has the whole answer already: the copy is being stored."""

    def set_result(self, result: FlightResult) -> None:
        """Set the result for all joined requests; only the first call counts."""
        if self._result.done():
            return
        self._result.set_result(result)
        self._take_place()

    def _take_place(self) -> None:
        result = self._result.result() if self._result.done() else None
        if isinstance(result, StreamingResult) and self._joining and self._place is None:
            self._place = result.spool.join()

    @contextmanager
    def joining(self) -> Iterator[None]:
        """Keep the content until this request reads it, or has decided not to.

        A request runs some turns of the event loop after what it waits for. Short content may have arrived and been
        read by the other readers by then.
        """
        self._joining += 1
        self._take_place()
        try:
            yield
        finally:
            self._joining -= 1
            result = self._result.result() if self._result.done() else None
            if isinstance(result, StreamingResult) and not self._joining:
                result.spool.leave(self._place)
                self._place = None

    async def result(self) -> FlightResult:
        """Wait for the result; None if that takes too long. Cancelling one waiter does not affect the others."""
        if not self._result.done():
            self._waiting += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s(self._waiting)):
                    return await asyncio.shield(self._result)
        return self._result.result() if self._result.done() else None

    def pass_by(self) -> bool:
        """Count a request that is about to make a contact beside this one; False if there are as many as may be."""
        self._passed += 1
        return self._passed <= PASSED

    @property
    def has_result(self) -> bool:
        """Whether the result is set."""
        return self._result.done()

    @property
    def has_failed(self) -> bool:
        """Whether the contact has failed."""
        return self._result.done() and isinstance(self._result.result(), FailedResult)

    @property
    def is_abandoned(self) -> bool:
        """Whether the contact has ended without a response."""
        return self._result.done() and isinstance(self._result.result(), AbandonedResult)


class Flights:
    """The contacts in progress that can be joined, by partition and URL, variant, credentials and range."""

    def __init__(self) -> None:
        self._flights: dict[tuple[str, str], dict[tuple[Values, Distinctions], Flight]] = {}

    def of(self, request: Request, variant: Values) -> Flight | None:
        """Return the contact that this request may join; None if there is none, or it has failed."""
        flight = self._flights.get(_key(request), {}).get((variant, distinctions(request)))
        return None if flight is None or flight.has_failed else flight

    def is_in_progress(self, request: Request) -> bool:
        """Whether there is a contact for the object, also one that this request may not join."""
        return _key(request) in self._flights

    def begin(self, request: Request, variant: Values) -> Flight:
        """Register a new contact."""
        flight = Flight()
        self._flights.setdefault(_key(request), {})[variant, distinctions(request)] = flight
        return flight

    def end(self, request: Request, variant: Values, flight: Flight) -> None:
        """Remove a contact, which can be joined no longer, unless another has taken its place: it has failed."""
        key, name = _key(request), (variant, distinctions(request))
        of_object = self._flights.get(key, {})
        if of_object.get(name) is flight:
            del of_object[name]
            if not of_object:
                del self._flights[key]


def _key(request: Request) -> tuple[str, str]:
    return request.partition, request.target.url
