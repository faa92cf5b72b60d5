"""What a request through the live layers meets, as the client sees it."""

from collections.abc import AsyncIterator

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access import new_objects
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.replay.played.errors import PlayError
from bestbefore.replay.played.origin import PlayedOrigin, TraceObjects
from bestbefore.replay.played.proxy import PlayedClient, RequestOutcome
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from tests.addon.store.memory_backend import open_memory_store

OBJECTS = TraceObjects(CompleteHistories.of_histories({"a": History.of([100.0, 300.0], 0.0)}, Grouping.ALL))
URL = OBJECTS.urls["a"]


class Client:
    """One that asks for the object at given moments. A copy is fresh for 60 s."""

    def __init__(self, clock: ManualClock, connection: PlayedClient) -> None:
        self._clock = clock
        self._connection = connection

    async def get(self, t: float, partition: str = "x", *, reload: bool = False) -> tuple[RequestOutcome, bytes]:
        self._clock.set(t)
        told = await self._connection.get(URL, partition, reload=reload)
        return told.outcome, told.content


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    clock = ManualClock(0.0)
    store = await open_memory_store(clock=clock)
    rules = Rules(DomainRule(Pattern.parse("*"), Bounded(Fixed(60.0))))
    site = Site(name="bestbefore", salt=b"", max_cached_body=100)
    origin = PlayedOrigin(OBJECTS, clock, tells_times=True)
    exchanges = Exchanges(clock, store, origin, rules, site, on_answered=lambda _: None)
    yield Client(clock, PlayedClient(exchanges, clock))
    await exchanges.close()
    await store.close()


async def test_a_miss_a_hit_and_both_kinds_of_validation_are_distinguished(client: Client) -> None:
    assert await client.get(150.0) == (RequestOutcome.MISS, b"1")
    assert await client.get(209.0) == (RequestOutcome.HIT, b"1")
    assert await client.get(210.0) == (RequestOutcome.UNCHANGED, b"1")
    assert await client.get(310.0) == (RequestOutcome.CHANGED, b"2")
    assert await client.get(310.0) == (RequestOutcome.HIT, b"2")


async def test_each_cache_has_its_own_copies(client: Client) -> None:
    assert await client.get(150.0, "x") == (RequestOutcome.MISS, b"1")
    assert await client.get(160.0, "y") == (RequestOutcome.MISS, b"1")
    assert await client.get(209.0, "x") == (RequestOutcome.HIT, b"1")


async def test_who_reloads_always_makes_a_contact(client: Client) -> None:
    assert await client.get(150.0, reload=True) == (RequestOutcome.MISS, b"1")
    assert await client.get(151.0, reload=True) == (RequestOutcome.UNCHANGED, b"1")
    assert await client.get(301.0, reload=True) == (RequestOutcome.CHANGED, b"2")


async def test_what_the_proxy_does_not_store_ends_the_replay(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_objects, "PER_DAY", 0)
    with pytest.raises(PlayError) as raised:
        await client.get(150.0)
    assert raised.value.message == (
        f"the proxy keeps no copy of {URL}: HTTP/1.1 200, "
        "Cache-Status: bestbefore; fwd=uri-miss; fwd-status=200; detail=too-many-objects"
    )
