"""Groups in process: bounded, and right while the store is down."""

import asyncio

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.cache import groups
from bestbefore.addon.store.cache.gains import total
from bestbefore.addon.store.cache.groups import Groups
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.policies.models.member_rates import MemberRates


def made(backend=None, waiting=None):
    clock = ManualClock(1e9)
    link = Link(backend, clock, Notices())
    if backend is not None:
        link.mark_up()

    def waiting_gain(belongs):
        return total(gain for host, gain in (waiting or {}).items() if belongs(host))

    return Groups(link, clock, waiting_gain)


def everything(host):
    return True


async def test_away_a_group_is_what_was_learnt_here():
    known = made(waiting={"a.example.org": GroupCounts({1: 2}, {1: 1}), "b.com": GroupCounts({5: 1}, {})})
    counts = await known.read("example.org", everything, "example.org")
    assert (counts.updates, counts.starts) == ({1: 2}, {1: 1})
    known.gained("a.example.org", GroupCounts({1: -1, 2: 1}, {}))
    assert known.get("example.org", "example.org").updates == {1: 1, 2: 1}


async def test_away_what_was_known_before_is_not_lost():
    class Backend:
        async def counts(self, belongs, domain):
            return GroupCounts({1: 7}, {1: 3})

    known = made(Backend())
    await known.read("example.org", everything, "example.org")
    known._link.down_since_s = 0.0
    assert (await known.read("example.org", everything, "example.org")).updates == {1: 7}


async def test_counts_are_read_again_after_a_minute_and_not_used_after_two():
    class Backend:
        updates = 7

        async def counts(self, belongs, domain):
            return GroupCounts({1: self.updates}, {1: 3})

    known, backend = made(Backend()), Backend
    await known.read("g", everything, "example.org")
    backend.updates = 8  # another proxy has learnt
    known._clock.advance(groups.READ_AGAIN_S + 1)
    assert known.get("g", "example.org").updates == {1: 7}
    await known.read_due()
    assert known.get("g", "example.org").updates == {1: 8}
    known._clock.advance(groups.OLDEST_S + 1)
    assert known.get("g", "example.org") is None
    known._link.down_since_s = 0.0
    assert (await known.read("g", everything, "example.org")).updates == {1: 8}, "the store is down"


async def test_a_request_does_not_wait_for_a_long_write(monkeypatch):
    monkeypatch.setattr(groups, "PATIENCE_S", 0.01)

    class Backend:
        updates = 7

        async def counts(self, belongs, domain):
            return GroupCounts({1: self.updates}, {1: 3})

    known, backend, writing = made(Backend()), Backend, asyncio.Lock()
    async with writing:
        assert (await known.read_between("g", everything, "example.org", writing)).updates == {1: 7}
        assert known.get("g", "example.org").updates == {1: 7}, "the next request does not wait at all"
        backend.updates = 8  # what was being written
    await known.read_due()
    assert known.get("g", "example.org").updates == {1: 8}
    backend.updates = 9
    assert (await known.read_between("g", everything, "example.org", writing)).updates == {1: 8}, "another has read it"
    assert not writing.locked()


async def test_the_groups_of_only_so_many_domains_are_kept(monkeypatch):
    monkeypatch.setattr(groups, "DOMAINS_KEPT", 3)
    known = made()
    for i in range(5):
        await known.read("g", everything, f"example{i}.org")
    assert [known.get("g", f"example{i}.org") is not None for i in range(5)] == [False, False, True, True, True]


async def test_only_so_many_groups_of_a_domain_are_kept(monkeypatch):
    monkeypatch.setattr(groups, "GROUPS_KEPT", 2)
    known = made()
    for i in range(3):
        await known.read(f"g{i}", everything, "example.org")
    assert [known.get(f"g{i}", "example.org") is not None for i in range(3)] == [False, True, True]


async def test_a_cache_group_gains_what_is_counted_under_its_label():
    known, label = made(), '"x"@http://a.example.org:8080'
    for name, belongs in ((label, label.__eq__), ("example.org", everything)):
        await known.read(name, belongs, "example.org")
    known.gained(label, GroupCounts({1: 1}, {1: 1}))
    known.gained("a.example.org", GroupCounts({2: 1}, {1: 1}))
    assert known.get(label, "example.org").updates == {1: 1}
    assert known.get("example.org", "example.org").updates == {1: 1, 2: 1}
    known.gained("a.example.org", None)
    assert known.get(label, "example.org") is None, "the object may have had another label in the store"


async def test_a_contact_without_update_changes_the_rates_of_a_group_and_not_its_counts():
    known = made()
    before = await known.read("g", everything, None)
    known.gained("a.org", GroupCounts({}, {}, MemberRates(1, 9_000_000)))
    known.gained("a.org", GroupCounts({}, {}, MemberRates(0, 500_000)))
    after = known.get("g", None)
    assert (after.rates, after.generation) == (MemberRates(1, 9_500_000), before.generation)


async def test_counts_that_are_others_than_was_thought_are_read_again():
    known = made()
    await known.read("g", everything, None)
    known.gained("a.org", None)
    assert known.get("g", None) is None
