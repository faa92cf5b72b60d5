"""What was learnt as changes of the counts of a group."""

from collections import Counter
from dataclasses import replace

from bestbefore.addon.engine.learning import Record, RecordChange
from bestbefore.addon.engine.update import Update
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.cache.gains import add, gain_of, gains_of, loss_of, share_of, total, total_by_label
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates, log_interval_micronats

RECORD = Record("http://a/", 100.0, 9000.0, updates=(Update(100.0, 300.0), Update(7300.0, 7300.0)), folded=((0, 3),))


def test_new_updates_gain_their_hours_and_dropped_ones_lose_them():
    learnt = RecordChange(
        RECORD,
        applied=True,
        changed=True,
        new_updates_s=(100.0, 3700.0, 7300.0),
        dropped_updates_s=(3800.0,),
        new_since_s=50.0,
        dropped_since_s=7200.0,
    )
    assert gain_of(None, learnt) == GroupCounts({0: 1, 2: 1}, {0: 1, 2: -1})


def test_a_record_that_is_removed_loses_all_that_it_gave():
    counted = Record(**{name: getattr(RECORD, name) for name in RECORD.__slots__} | {"counted": True})
    assert loss_of(counted) == GroupCounts({0: -4, 2: -1}, {0: -1})
    assert share_of(counted) == GroupCounts({0: 4, 2: 1}, {0: 1})
    assert loss_of(RECORD) == share_of(RECORD) == GroupCounts({}, {})


def test_a_member_changes_the_rates_of_its_group_at_each_contact():
    before = replace(RECORD, counted=True, interval_micronats=7_000_000)
    learnt = RecordChange(replace(before, interval_micronats=7_500_000), applied=True, changed=False)
    assert gain_of(before, learnt) == GroupCounts({}, {}, MemberRates(0, 500_000))
    assert loss_of(learnt.record).rates == MemberRates(-1, -7_500_000)


def test_a_member_of_an_earlier_version_gives_its_rate_at_its_next_contact():
    before = replace(RECORD, counted=True)
    learnt = RecordChange(before.rated(), applied=True, changed=False)
    assert gain_of(before, learnt).rates == MemberRates(1, log_interval_micronats(5, 8900.0))
    assert loss_of(before).rates == NO_RATES


def test_an_object_takes_its_counts_along_to_another_label():
    before = replace(RECORD, counted=True)
    grouped = replace(before, cache_group='"x"@http://a', updates=before.updates[:1])
    learnt = RecordChange(grouped, applied=True, changed=None, new_updates_s=(100.0,))
    assert gains_of(None, learnt) == {'"x"@http://a': gain_of(None, learnt)}
    assert gains_of(grouped, learnt) == {'"x"@http://a': gain_of(grouped, learnt)}
    assert gains_of(before, learnt) == {"a": loss_of(before), '"x"@http://a': share_of(grouped)}


def test_changes_add_up_for_each_label():
    one, other = GroupCounts({1: 1}, {}), GroupCounts({1: -1}, {2: 2})
    assert total_by_label([{"a": one}, {"a": other, "b": one}]) == {"a": GroupCounts({}, {2: 2}), "b": one}


def test_counts_that_come_to_nothing_leave():
    counts = {1: 2}
    add(counts, Counter({1: -2, 3: 1}))
    assert counts == {3: 1}
    assert total([GroupCounts({1: 1}, {}), GroupCounts({1: -1}, {2: 2})]) == GroupCounts({}, {2: 2})
