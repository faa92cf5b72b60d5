"""Four proxies on a cluster that divide the requests of a real trace learn what one learns that gets all of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.addon.store.cache import write_behind
from bestbefore.addon.store.cache.groups import Groups
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.played.origin import PlayedOrigin, TraceObjects
from bestbefore.replay.played.proxy import PlayedClient, RequestOutcome
from bestbefore.replay.played.store import flush_all
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.files import read_requests, read_updates

FIRST_S = 1706918400.0
"""The test start of the trace."""
DAYS = 1.0
OBJECTS = 8
THINNED_S = 30 * 60.0


def scenario(traces: Path) -> Scenario:
    """The first requests in each half hour for the objects of the paired trace that are requested most, in a day."""
    recorded = read_requests(traces / "paired" / "dev.requests.csv.gz", pytest.fail)
    recorded = recorded.since(FIRST_S).before(FIRST_S + DAYS * DAY_S)
    most = np.argsort(-np.bincount(recorded.object_ids))[:OBJECTS]
    places = np.flatnonzero(np.isin(recorded.object_ids, most))
    slots = np.stack([recorded.times_s[places] // THINNED_S, recorded.object_ids[places]])
    first = places[np.sort(np.unique(slots, axis=1, return_index=True)[1])]
    kept = replace(
        recorded, times_s=recorded.times_s[first], client_ids=recorded.client_ids[first],
        object_ids=recorded.object_ids[first],
    )
    return Scenario.of(
        read_updates(traces / "paired" / "dev.updates.csv.gz", pytest.fail), kept, origin_s=FIRST_S - 8 * DAY_S,
        test_start_s=FIRST_S, cache=Cache.SHARED, grouping=Grouping.ALL, warn=lambda _: None,
    )


async def learnt(
    addresses: Sequence[str], played: Scenario, spec: str
) -> tuple[list[RequestOutcome], Mapping[str, Record]]:
    """The outcome of each request, and the records in the store, with as many proxies as there are addresses of it."""
    clock, objects = ManualClock(FIRST_S), TraceObjects(played.truth)
    policy = parse_spec(spec)
    rules = Rules(DomainRule(Pattern.parse("*"), policy if isinstance(policy, Bounded) else Bounded(policy)))
    site, random = Site(name="bestbefore", salt=b"", max_cached_body=1 << 20), np.random.default_rng(1)
    outcomes = []
    async with AsyncExitStack() as opened:
        stores, clients = list[Store](), list[PlayedClient]()
        for address in addresses:
            store = await open_store(address, clock=clock, clock_mark="accelerated")
            opened.push_async_callback(store.close)
            exchanges = Exchanges(
                clock, store, PlayedOrigin(objects, clock, tells_times=True), rules, site, lambda _: None
            )
            opened.push_async_callback(exchanges.close)
            stores.append(store)
            clients.append(PlayedClient(exchanges, clock))
        for time_s, _, name in played.requests.rows():
            clock.advance(time_s - clock.now())
            at = int(random.integers(len(stores)))
            outcomes.append((await clients[at].get(objects.urls[name], "", reload=False)).outcome)
            if outcomes[-1] is not RequestOutcome.HIT:
                await flush_all(stores[at])  # as the next request may come an hour later at another
        records = {record.url: record async for record in stores[0].records()}
    return outcomes, records


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", [pytest.param("ttl:alpha=0.2", marks=pytest.mark.long), "agghist:theta=0.1,max_ttl=2h"]
)
async def test_histories_and_outcomes_are_those_of_one_proxy(
    spec: str, traces: Path, cluster: list[Any], valkey: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_behind, "PEERS_GATHER_S", 0.001)  # each contact is written before the next request
    monkeypatch.setattr(Groups, "get", lambda *_: None)  # each contact counts at once, and not within a minute
    played = scenario(traces)
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in cluster)
    of_one = await learnt([valkey.url], played, spec)
    of_four = await learnt([f"redis+cluster://{seeds}"] * 4, played, spec)
    assert of_four == of_one
    assert Counter(of_one[0])[RequestOutcome.CHANGED] > 10
