from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine.learning import Record, RecordChange
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates
from bestbefore.replay.simulate.observed_group import ObservedGroup

HOUR = 3600.0
DAY = 86400.0


def learnt(updates: list[float], since_s: float | None = None) -> RecordChange:
    record = Record(url="a", since_s=0.0, last_contact_s=0.0)
    return RecordChange(record, applied=True, changed=None, new_updates_s=tuple(updates), new_since_s=since_s)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 9 * 86400).map(float), max_size=5), st.none() | st.integers(0, 9 * 86400).map(float)
        ),
        max_size=12,
    )
)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_it_is_the_group_of_the_same_counts_by_hour(steps: list[tuple[list[float], float | None]]) -> None:
    grown = ObservedGroup()
    updates: dict[int, int] = {}
    starts: dict[int, int] = {}
    for points, since_s in steps:
        grown.add(None, learnt(points, since_s))
        for point_s in points:
            updates[int(point_s // HOUR)] = updates.get(int(point_s // HOUR), 0) + 1
        if since_s is not None:
            starts[int(since_s // HOUR)] = starts.get(int(since_s // HOUR), 0) + 1
        assert grown.group == Group.of_hours(updates, starts, NO_RATES)


def test_an_hour_counts_whole_from_its_start_on() -> None:
    grown = ObservedGroup()
    grown.add(None, learnt([2.9 * HOUR, DAY + 2.1 * HOUR], since_s=1.5 * HOUR))
    assert grown.group.since_s == HOUR
    assert grown.group.counts(-1.0, 2 * HOUR)[2] == 1
    assert grown.group.counts(-1.0, 2 * DAY)[2] == 2


def test_the_rates_are_those_of_the_last_contact_of_each_member() -> None:
    grown = ObservedGroup()
    first, second = (replace(learnt([]).record, interval_micronats=n) for n in (5_000_000, 7_000_000))
    grown.add(None, RecordChange(first, applied=True, changed=None, new_since_s=0.0))
    assert grown.group.rates == MemberRates(1, 5_000_000)
    grown.add(first, RecordChange(second, applied=True, changed=False))
    grown.add(None, RecordChange(first, applied=True, changed=False))
    assert grown.group.rates == MemberRates(2, 12_000_000)
