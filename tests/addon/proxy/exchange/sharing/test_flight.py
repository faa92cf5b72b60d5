"""A contact in progress, and the requests that join it."""

import asyncio

import pytest

from bestbefore.addon.proxy.access.reach import EVERYWHERE
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.sharing.flight import PASSED, FailedResult, Flight, Flights, StreamingResult
from bestbefore.addon.proxy.exchange.sharing.spool import Spool
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from tests.addon.proxy.exchange.sharing.test_spool import no_rest

PATIENCE_S = 30


async def test_the_first_landing_counts_and_reaches_all_who_wait() -> None:
    flight = Flight()
    waiting = [asyncio.create_task(flight.result()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    crash = FailedResult(OriginError(Failure.TIMEOUT, "late"), EVERYWHERE)
    flight.set_result(crash)
    flight.set_result(None)
    assert await asyncio.gather(*waiting[1:]) == [crash, crash]


async def test_content_is_kept_for_a_request_that_has_just_waited_for_the_head() -> None:
    """All of it may have arrived, and been read by the first client, before the request runs again."""
    spool, flight = Spool(100, Budget(100)), Flight()
    own = spool.read(spool.join(), no_rest)

    async def join(*, reads: bool) -> bytes:
        with flight.joining():
            assert isinstance(await flight.result(), StreamingResult)
            assert spool.can_be_joined
            chunks = spool.read(spool.join(), no_rest) if reads else None
        return b"" if chunks is None else b"".join([chunk async for chunk in chunks])

    waiting = [asyncio.create_task(join(reads=reads)) for reads in (True, False)]
    await asyncio.sleep(0)
    flight.set_result(StreamingResult(Copy.__new__(Copy), spool))
    await spool.add(b"short")
    spool.end()
    assert [chunk async for chunk in own] == [b"short"]
    assert await asyncio.gather(*waiting) == [b"short", b""]
    assert not spool.can_be_joined
    assert spool.body is None, "released"


async def test_few_requests_pass_by_a_contact() -> None:
    flight = Flight()
    assert [flight.pass_by() for _ in range(PASSED + 2)] == [True] * PASSED + [False] * 2
    assert not flight.has_result
    flight.set_result(None)
    assert flight.has_result


async def test_a_contact_is_found_by_partition_and_url_until_it_ends() -> None:
    flights = Flights()
    request = Request("GET", Target.parse("http://a/"))
    flight = flights.begin(request, ())
    assert flights.of(Request("GET", Target.parse("http://a/")), ()) is flight
    assert flights.of(Request("GET", Target.parse("http://a/b")), ()) is None
    assert flights.of(Request("GET", Target.parse("http://a/"), partition="p"), ()) is None
    flights.end(request, (), flight)
    assert flights.of(request, ()) is None
    assert not flights.is_in_progress(request)


async def test_a_contact_that_has_failed_is_joined_no_more_and_makes_place_for_another() -> None:
    flights = Flights()
    request = Request("GET", Target.parse("http://a/"))
    flight = flights.begin(request, ())
    flight.set_result(FailedResult(OriginError(Failure.TIMEOUT, "late"), EVERYWHERE))
    assert flights.of(request, ()) is None
    next_one = flights.begin(request, ())
    flights.end(request, (), flight)
    assert flights.of(request, ()) is next_one


async def test_other_variants_and_credentials_have_contacts_of_their_own() -> None:
    flights = Flights()
    plain, mine, yours = (
        Request("GET", Target.parse("http://a/"), Fields(fields))
        for fields in ([], [("Cookie", "me")], [("Cookie", "you")])
    )
    flight = flights.begin(mine, ())
    assert flights.of(mine, ()) is flight
    assert [flights.of(plain, ()), flights.of(yours, ()), flights.of(mine, ("de",))] == [None, None, None]
    assert flights.is_in_progress(plain)
    flights.begin(plain, ())
    flights.end(mine, (), flight)
    assert flights.is_in_progress(mine)


async def test_a_request_waits_for_a_contact_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestbefore.addon.engine.sharing.PATIENCE_S", 0.01)
    flight = Flight()
    assert await asyncio.wait_for(flight.result(), PATIENCE_S) is None
    late = FailedResult(OriginError(Failure.TIMEOUT, "late"), EVERYWHERE)
    flight.set_result(late)
    assert await flight.result() is late
