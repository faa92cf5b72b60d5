"""The objects of a domain lie in many parts, on many nodes; what is counted of them is the same as if they did not."""

import asyncio
import random

import pytest

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.cache.gains import share_of, total

URLS = [f"http://h{n % 3}.example{n % 2}.org/{n}" for n in range(30)]


@pytest.fixture(params=["server", "cluster"])
def where(request):
    """One server, or a node of two."""
    server = request.getfixturevalue("cluster")[0] if request.param == "cluster" else request.getfixturevalue("valkey")
    return server.url


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
async def test_the_counts_of_all_parts_are_those_of_all_records(open_a_store, where, observe, seed):
    draw = random.Random(seed)
    stores = [await open_a_store(where) for _ in range(2)]
    for n in range(12):
        await asyncio.gather(*(learn_some(draw, store, observe, n) for store in stores))
        match draw.randrange(4):
            case 0:
                await draw.choice(stores).forget(draw.choice(URLS))
            case 1:
                await draw.choice(stores).forget(f"h{draw.randrange(3)}.example0.org")
    for store in stores:
        assert await store.flush()
    store = draw.choice(stores)
    records = [record async for record in store.records()]
    for domain in ("example0.org", "example1.org", None):
        for wanted in ("h1.", ""):
            store.regroup()
            counts = await store.group("some", lambda host, wanted=wanted: wanted in host, domain)
            mine = [r for r in records if wanted in host_of(r.url)]
            expected = total(share_of(r) for r in mine if domain in (None, registrable_domain(host_of(r.url))))
            assert (counts.updates, counts.starts) == (expected.updates, expected.starts)
    for url in URLS:
        await store.forget(url)
    store.regroup()
    nothing = await store.group("all", lambda host: True)
    assert (nothing.updates, nothing.starts) == ({}, {})


async def learn_some(draw, store, observe, n):
    for url in draw.choices(URLS, k=15):
        await store.learn(observe(url, 1e6 * n + draw.randrange(1_000_000), draw.randrange(3)))
    if draw.random() < 0.5:
        await store.flush()
