"""The sums by which prices are controlled: the same at all proxies of a store, and kept by it."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.counts.stale_counts import READ_AGAIN_S
from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import PERIOD_S, CopyControl

URL = "http://www.example.org/a"
GROUP = "example.org 0.05"
NOW_S = 1e9
CONTROL = CopyControl(1e-4, 500_000)


@pytest.fixture
def clock():
    return ManualClock(NOW_S)


@pytest.fixture
def controlled(copy_of):
    """A copy that was current a while ago."""
    return copy_of(URL, stored_s=NOW_S - 3600.0).controlled(CONTROL, GROUP)


def stale(copy, t):
    return control.predicted_stale(CONTROL.updates_per_s, t - copy.current_s)


async def test_hits_and_validations_count_at_once_and_for_all_proxies(open_a_store, valkey, clock, controlled):
    one, other = [await open_a_store(valkey.url, clock=clock) for _ in range(2)]
    assert await other.stale.of(GROUP, NOW_S) == [[0] * 5]
    times_s = [NOW_S - 1000.0, NOW_S]
    for t in times_s:
        one.demand.count(controlled, t)
    predicted = sum(stale(controlled, t) for t in times_s)
    assert (await one.demand.of(controlled)).predicted_since(controlled.current_s) == predicted
    one.stale.count_validation(controlled, NOW_S, predicted, changed=True, requested=True)
    expected = [[3, 1_500_000, predicted, control.shown_stale(predicted, 1e-4, 3600.0), predicted]]
    assert await one.stale.of(GROUP, NOW_S) == expected
    await one.flush()
    assert await other.stale.of(GROUP, NOW_S) == [[0] * 5], "it is read again after some seconds"
    clock.advance(READ_AGAIN_S + 1.0)
    assert await other.stale.of(GROUP, NOW_S) == expected
    await other.close()
    later = await open_a_store(valkey.url, clock=clock)
    assert await later.stale.of(GROUP, NOW_S) == expected
    assert (await later.demand.of(controlled)).predicted_since(controlled.current_s) == predicted


async def test_a_prefetch_shows_stale_hits_and_is_no_request(store, controlled):
    store.stale.count_validation(controlled, NOW_S, 7, changed=False, requested=False)
    assert await store.stale.of(GROUP, NOW_S) == [[0, 0, 0, 0, 7]]


async def test_a_copy_without_control_counts_nowhere(store, copy_of):
    assert store.stale.count_hits(copy_of(URL), [NOW_S]) == 0
    store.stale.count_validation(copy_of(URL), NOW_S, 7, changed=False, requested=True)
    assert store.stale.waiting == 0


async def test_what_could_not_be_written_is_written_later(open_a_store, clock, controlled):
    class Down:
        async def add_stale_sums(self, sums):
            store.stale.count_hits(controlled, [NOW_S])  # meanwhile
            raise UnavailableError("gone")

    store = await open_a_store(clock=clock)
    store.stale.count_hits(controlled, [NOW_S])
    with pytest.raises(UnavailableError):
        await store.stale.write(Down())
    await store.stale.write(store._link.backend)  # not due
    assert store.stale.waiting == 1
    assert await store.flush()
    assert store.stale.waiting == 0
    assert [row[0] for row in await store.stale.of(GROUP, NOW_S)] == [2]
    store._link.mark_down(UnavailableError("gone"))
    clock.advance(60.0)
    assert (await store.stale.of(GROUP, NOW_S + PERIOD_S))[1][0] == 2, "what is known while the store is down"


async def test_sums_from_a_clock_that_was_ahead_do_not_count(store, controlled):
    store.stale.count_hits(controlled, [NOW_S, NOW_S + 9 * PERIOD_S])
    assert [row[0] for row in await store.stale.of(GROUP, NOW_S)] == [1]


def test_sums_of_only_so_many_groups_are_pending(store, copy_of):
    store.stale._pending.most = 2
    for name in "abca":
        store.stale.count_hits(copy_of(URL).controlled(CONTROL, name), [NOW_S])
    assert set(store.stale._pending.by_key) == {"a", "b"}
