"""The demand for copies: counted in process, the same at all proxies of a store, and kept by it."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.backend.keys import CopyKey
from bestbefore.addon.store.counts.pending_sums import WRITTEN_EVERY_S
from bestbefore.policies.models.demand import first_request, joined, requested

URL = "http://www.example.org/a"


@pytest.fixture
async def proxies(open_a_store, valkey):
    """Two on one store."""
    return [await open_a_store(valkey.url) for _ in range(2)]


def counted(*times_s):
    demand = first_request(times_s[0])
    for t in times_s[1:]:
        demand = requested(demand, t)
    return demand


@pytest.mark.usefixtures("only_flushed")
async def test_the_demand_is_that_at_all_proxies_and_survives_them(proxies, open_a_store, valkey, copy_of):
    one, other = proxies
    copy = copy_of(URL)
    t = copy.stored_s - 100.0
    for proxy, after_s in ((one, 0.0), (other, 10.0), (one, 20.0)):
        proxy.demand.count(copy, t + after_s)
    assert (await other.demand.of(copy)).demand == first_request(t + 10.0), "the rest is not written yet"
    await one.flush()
    assert (await other.demand.of(copy)).demand == pytest.approx(joined(counted(t, t + 20.0), first_request(t + 10.0)))
    await other.close()
    later = await open_a_store(valkey.url)
    assert (await later.demand.of(copy)).demand.day_requests == pytest.approx(3.0, rel=0.01)


async def test_requests_go_on_where_a_batch_has_ended(store, copy_of):
    copy = copy_of(URL)
    t = copy.stored_s - 500.0
    for after_s in (0.0, 50.0, 100.0, 200.0):  # two bursts
        store.demand.count(copy, t + after_s)
        await store.flush()
    assert (await store.demand.of(copy)).demand == pytest.approx(counted(t, t + 50.0, t + 100.0, t + 200.0))


async def test_clients_whose_copies_are_apart_have_a_demand_of_their_own(store, copy_of):
    shared, mine, own = copy_of(URL), copy_of(URL, personal="hash"), copy_of(URL, client="hash")
    t = shared.stored_s - 100.0
    for copy, n in ((shared, 3), (mine, 2), (own, 1)):
        for _ in range(n):
            store.demand.count(copy, t)
    await store.flush()
    assert [(await store.demand.of(copy)).demand.day_requests for copy in (shared, mine, own)] == [3.0, 2.0, 1.0]


async def test_while_the_store_is_down_what_is_pending_counts_and_is_written_later(store, copy_of):
    class Down:
        async def add_demand(self, demands):
            raise UnavailableError("gone")

    copy = copy_of(URL)
    t = copy.stored_s - 100.0
    store.demand.count(copy, t)
    with pytest.raises(UnavailableError):
        await store.demand.write(Down())
    store.demand.count(copy, t + 70.0)
    store._link.mark_down(UnavailableError("gone"))
    assert (await store.demand.of(copy)).demand == counted(t, t + 70.0)
    store._link.mark_up()
    await store.flush()
    assert (await store.demand.of(copy)).demand == pytest.approx(counted(t, t + 70.0))


async def test_the_demand_is_forgotten_with_the_history_and_not_by_a_purge(store, copy_of):
    copy = copy_of(URL)
    for _ in range(2):
        store.demand.count(copy, copy.stored_s)
        await store.flush()
        store.demand.count(copy, copy.stored_s)
    await store.purge(URL)
    assert (await store.demand.of(copy)).demand.day_requests == pytest.approx(4.0, rel=0.01)
    store.demand.count(copy, copy.stored_s)
    await store.forget("*.example.org")
    assert (await store.demand.of(copy)).demand == first_request(copy.response_time_s)


def test_requests_for_only_so_many_copies_are_pending(store, copy_of):
    store.demand._pending.most = 2
    for name in "abca":
        store.demand.count(copy_of(f"http://{name}.org/"), 1e9)
    assert store.demand.waiting == 2
    assert {key.url: counts.demand.day_requests for key, counts in store.demand._pending.by_key.items()} == {
        "http://a.org/": 2.0, "http://b.org/": 1.0,
    }  # fmt: skip
    assert CopyKey("http://c.org/") not in store.demand._pending.by_key


async def test_requests_that_go_on_are_written_every_few_seconds(open_a_store, copy_of):
    clock = ManualClock(1e9)
    store = await open_a_store(clock=clock)
    copy, waiting = copy_of(URL, stored_s=1e9), []
    for passed_s in (0.0, 1.0, WRITTEN_EVERY_S):
        clock.advance(passed_s)
        store.demand.count(copy, clock.now())
        await store.demand.write(store._link.backend)
        waiting.append(store.demand.waiting)
    assert waiting == [0, 1, 0]
    store.demand.count(copy, clock.now())
    assert await store.flush()
    assert store.demand.waiting == 0
    assert (await store.demand.of(copy)).demand.day_requests == pytest.approx(4.0, rel=0.01)
