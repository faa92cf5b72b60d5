"""What a proxy alone would have seen, against paper and pencil and against a second implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine import learning
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.member_rates import MemberRates, log_interval_micronats
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.simulate.observed import ObservedHistories, Warm
from bestbefore.replay.traces.columns.columns import Requests

HOUR = 3600.0


def truth(**times: list[float]) -> CompleteHistories:
    return CompleteHistories.of_histories({name: History.of(t, 0.0) for name, t in times.items()}, Grouping.ALL)


def requests(rows: list[tuple[float, str]]) -> Requests:
    names = tuple(sorted({name for _, name in rows}))
    ids = np.array([names.index(name) for _, name in rows], dtype=np.int32)
    return Requests.of(np.array([t for t, _ in rows]), np.zeros_like(ids), ids, ("x",), names)


# There is no contact between 300 and 700, so that of 400 and 600 only the later one is ever known.
REAL = [100.0, 250.0, 400.0, 600.0, 900.0]


def test_a_contact_shows_the_latest_update_since_the_last_contact() -> None:
    known = ObservedHistories(truth(a=REAL))
    first, _ = known.contact("a", 200.0)
    assert (first.since_s, first.last_modified_s, first.times_s.tolist()) == (200.0, 100.0, [])
    assert known.contact("a", 300.0)[0].times_s.tolist() == [250.0]
    later, group = known.contact("a", 700.0)
    assert (later.since_s, later.times_s.tolist()) == (200.0, [250.0, 600.0])
    assert sum(group.counts(-1.0, 700.0)) == 2
    assert known.contact("a", 800.0)[0].times_s.tolist() == [250.0, 600.0]


def test_without_times_an_update_is_known_to_lie_between_two_contacts() -> None:
    known = ObservedHistories(truth(a=REAL), tells_times=False)
    first, _ = known.contact("a", 200.0)
    assert (first.last_modified_s, first.times_s.tolist()) == (None, [])
    known.contact("a", 300.0)
    later, group = known.copy().contact("a", 800.0)
    assert (later.since_s, later.times_s.tolist()) == (200.0, [250.0, 550.0])
    assert sum(group.counts(-1.0, 700.0)) == 2


def test_what_is_known_does_not_reach_beyond_the_contact() -> None:
    known = ObservedHistories(truth(a=REAL))
    known.contact("a", 200.0)
    history, _ = known.contact("a", 600.0)
    assert history.times_s.tolist() == [600.0]


def test_an_object_joins_its_group_at_its_second_contact() -> None:
    known = ObservedHistories(truth(a=REAL, b=[]))
    known.contact("a", 200.0)
    _, group = known.contact("b", 250.0)
    assert group.members(1e9) == 0
    _, group = known.contact("b", 300.0)
    assert group.members(1e9) == 1
    assert known.contact("a", 300.0)[1].members(1e9) == 2
    assert sum(known.contact("b", 400.0)[1].counts(-1.0, 400.0)) == 1


def test_a_second_contact_at_the_same_instant_teaches_nothing() -> None:
    known = ObservedHistories(truth(a=REAL))
    known.contact("a", 200.0)
    _, group = known.contact("a", 200.0)
    assert group.members(1e9) == 0
    assert known.contact("a", 300.0)[0].times_s.tolist() == [250.0]


def test_an_object_that_never_changed_is_known_for_that() -> None:
    known = ObservedHistories(truth(a=[]))
    known.contact("a", 200.0)
    history, _ = known.contact("a", 900.0)
    assert (history.since_s, history.last_modified_s, history.times_s.tolist()) == (200.0, None, [])


def test_a_complete_history_has_all_updates_so_far() -> None:
    known = ObservedHistories(truth(a=REAL))
    known.report("a", 400.0)
    history, group = known.contact("a", 400.0)
    assert (history.since_s, history.times_s.tolist()) == (0.0, [100.0, 250.0, 400.0])
    assert (group.members(1e9), sum(group.counts(-1.0, 1e9))) == (1, 3)
    assert known.contact("a", 1000.0)[0].times_s.tolist() == [100.0, 250.0, 400.0, 900.0]


def test_of_a_long_complete_history_only_the_latest_updates_are_kept_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learning, "DETAILED_UPDATES", 2)
    known = ObservedHistories(truth(a=[100.0, 250.0, HOUR + 400.0, HOUR + 600.0]))
    known.report("a", 2 * HOUR)
    history, group = known.contact("a", 2 * HOUR)
    assert (history.folded, history.times_s.tolist()) == (((0, 2),), [HOUR + 400.0, HOUR + 600.0])
    assert sum(group.counts(-1.0, 1e9)) == 4


def test_a_copy_knows_the_same_and_learns_on_alone() -> None:
    known = ObservedHistories(truth(a=REAL))
    known.contact("a", 200.0)
    known.contact("a", 300.0)
    copy = known.copy()
    assert copy.contact("a", 700.0)[0].times_s.tolist() == [250.0, 600.0]
    history, group = known.contact("a", 1000.0)
    assert history.times_s.tolist() == [250.0, 900.0]
    assert sum(group.counts(-1.0, 1e9)) == 2
    assert sum(copy.contact("a", 700.0)[1].counts(-1.0, 1e9)) == 2


REQUESTS = [(200.0, "a"), (300.0, "a"), (700.0, "a"), (700.0, "b"), (800.0, "a")]


@pytest.mark.parametrize(
    ("warm", "since_s", "times"),
    [
        (Warm.CONTACTS, 200.0, [250.0, 600.0, 900.0]),
        (Warm.NONE, 1000.0, []),
        (Warm.COMPLETE, 0.0, [100.0, 250.0, 400.0, 600.0, 900.0]),
    ],
)
def test_what_is_known_at_the_test_start(warm: Warm, since_s: float, times: list[float]) -> None:
    known = ObservedHistories.at_test_start(truth(a=REAL, b=[]), warm, requests(REQUESTS), 750.0)
    history, _ = known.contact("a", 1000.0)
    assert (history.since_s, history.times_s.tolist()) == (since_s, times)


def test_a_request_at_the_test_start_is_no_contact_before_it() -> None:
    known = ObservedHistories.at_test_start(truth(a=REAL, b=[]), Warm.CONTACTS, requests(REQUESTS), 200.0)
    assert known.records == {}


class Evidence:
    """The same once more: what is known of one object, by the words of the definition."""

    def __init__(self) -> None:
        self.contacts: list[float] = []
        self.updates: list[float] = []
        self.before: float | None = None

    def contact(self, real: list[float], t: float) -> None:
        past = [u for u in real if u <= t]
        latest = max(past, default=None)
        if not self.contacts:
            self.before = latest
        elif latest is not None and latest > self.contacts[-1]:
            self.updates.append(latest)
        if t not in self.contacts:
            self.contacts.append(t)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 200).map(lambda m: m * 600.0)), max_size=40),
    st.lists(st.tuples(st.integers(0, 200).map(lambda m: m * 600.0), st.sampled_from("ab")), max_size=40).map(sorted),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_any_sequence_of_contacts_teaches_what_the_definition_says(
    updates: list[tuple[str, float]], contacts: list[tuple[float, str]]
) -> None:
    real = {name: sorted({t for object_, t in updates if object_ == name}) for name in "ab"}
    known = ObservedHistories(truth(**real))
    seen = {"a": Evidence(), "b": Evidence()}
    for t, name in contacts:
        history, group = known.contact(name, t)
        seen[name].contact(real[name], t)
        assert history.times_s.tolist() == seen[name].updates
        assert history.since_s == seen[name].contacts[0]
        assert history.last_modified_s == seen[name].before
        members = [one for one in seen.values() if len(one.contacts) > 1]
        hours: dict[int, int] = {}
        for u in [u for one in members for u in one.updates]:
            hours[int(u // HOUR)] = hours.get(int(u // HOUR), 0) + 1
        starts: dict[int, int] = {}
        for one in members:
            starts[int(one.contacts[0] // HOUR)] = starts.get(int(one.contacts[0] // HOUR), 0) + 1
        intervals = [log_interval_micronats(len(one.updates), one.contacts[-1] - one.contacts[0]) for one in members]
        assert group == Group.of_hours(hours, starts, MemberRates(len(members), sum(intervals)))


@given(
    st.lists(st.integers(0, 300).map(float), max_size=30),
    st.integers(0, 300).map(float),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_with_a_contact_at_each_update_the_observed_history_is_complete(real: list[float], t: float) -> None:
    complete = truth(a=real)
    known = ObservedHistories(complete)
    known.report("a", t)
    for u in sorted({u for u in real if u > t}):
        known.contact("a", u)
    history, _ = known.contact("a", 1000.0)
    assert history.times_s.tolist() == complete.history("a").times_s.tolist()
    assert history.since_s == 0.0
