"""What kernels learn, held to the rule that learns live."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine import learning as live
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.units import HOUR_S
from bestbefore.replay.kernels import learning
from bestbefore.replay.kernels.arrays.membership import hours_observed
from bestbefore.replay.kernels.arrays.tallies import keep_after
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.learning import NEVER_S, LearntColumns, learn, memory_of, report
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.simulate.observed import ObservedHistories
from bestbefore.replay.traces.columns.columns import Updates

OBJECTS = ("g/a", "g/b", "h/c", "h/still")
WINDOW_S = 10 * HOUR_S

hours = st.one_of(st.integers(0, 60), st.floats(0.0, 60.0)).map(lambda h: h * HOUR_S)
updates = st.lists(st.tuples(hours, st.sampled_from(OBJECTS[:3])), max_size=60)
contacts = st.lists(st.tuples(hours, st.sampled_from(OBJECTS)), max_size=60).map(sorted)


def truth_of(rows: Sequence[tuple[float, str]]) -> tuple[Updates, Truth]:
    ids = np.array([OBJECTS.index(name) for _, name in rows], dtype=np.int32)
    found = Updates.of(np.array([t for t, _ in rows]), ids, OBJECTS[:3])
    return found, Truth.of(found, OBJECTS, Grouping.PREFIX)


def updates_learnt(truth: Truth, learnt: LearntColumns, object_: int) -> list[float]:
    owner = truth.owner_of[object_]
    return list(learnt.updates.times_s[truth.firsts[owner] : learnt.updates.ends[owner]].tolist())


def in_window(learnt: LearntColumns, truth: Truth, group: int, t: float) -> list[int]:
    """The updates of a group by hour bin."""
    keep_after(learnt.group_window, learnt.hours, group, t - WINDOW_S)
    return list(learnt.group_window.by_bin[group].tolist())


def check(truth: Truth, learnt: LearntColumns, object_: int, t: float, history: History, group: Group) -> None:
    """Whether after a contact at t the same is known of the object and of its group."""
    folded = [hour * HOUR_S for hour, n in history.folded for _ in range(n)]
    assert updates_learnt(truth, learnt, object_) == [*folded, *history.times_s.tolist()]
    assert learnt.since_s[object_] == history.since_s
    last_s = history.last_update_s(t)
    assert learnt.last_s[object_] == (NEVER_S if last_s is None else last_s)
    number = int(truth.group_of[object_])
    assert in_window(learnt, truth, number, t) == group.counts(t - WINDOW_S, t)
    assert learnt.members.since_s[number] == (math.inf if group.since_s is None else group.since_s)
    assert hours_observed(learnt.members, number, t - WINDOW_S, t) == group.member_hours(t - WINDOW_S, t)


@given(updates, contacts, st.sampled_from([None, 0.0, 20 * HOUR_S]), st.booleans(), st.sampled_from([2, 1024]))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_contacts_teach_what_they_teach_the_proxy(
    rows: list[tuple[float, str]],
    asked: list[tuple[float, str]],
    told_s: float | None,
    tells_times: bool,
    detailed: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "DETAILED_UPDATES", detailed)
        patch.setattr(learning, "DETAILED_UPDATES", detailed)
        found, truth = truth_of(rows)
        learnt = LearntColumns.nothing(truth, tells_times=tells_times)
        known = ObservedHistories(
            CompleteHistories.of(found, OBJECTS, 0.0, Grouping.PREFIX), tells_times=tells_times
        )
        for object_, name in enumerate(OBJECTS if told_s is not None else ()):
            assert told_s is not None
            known.report(name, told_s)
            report(truth, learnt, object_, 0.0, told_s)
        for t, name in asked:
            if told_s is None or t >= told_s:
                learn(truth, learnt, OBJECTS.index(name), t)
                check(truth, learnt, OBJECTS.index(name), t, *known.contact(name, t))


# There is no contact between 300 and 700, so that of 400 and 600 only the later one is ever known.
REAL = [(t, "g/a") for t in (100.0, 250.0, 400.0, 600.0, 900.0)]


def test_a_contact_shows_the_latest_update_since_the_last_contact() -> None:
    _, truth = truth_of(REAL)
    learnt = LearntColumns.nothing(truth)
    learn(truth, learnt, 0, 200.0)
    assert (learnt.since_s[0], learnt.last_s[0], updates_learnt(truth, learnt, 0)) == (200.0, 100.0, [])
    learn(truth, learnt, 0, 300.0)
    learn(truth, learnt, 0, 700.0)
    assert (learnt.since_s[0], learnt.last_s[0], updates_learnt(truth, learnt, 0)) == (200.0, 600.0, [250.0, 600.0])
    learn(truth, learnt, 0, 800.0)
    assert updates_learnt(truth, learnt, 0) == [250.0, 600.0]


def test_a_copy_learns_on_alone() -> None:
    _, truth = truth_of(REAL)
    learnt = LearntColumns.nothing(truth)
    learn(truth, learnt, 0, 200.0)
    learn(truth, learnt, 0, 300.0)
    copy = learnt.copy(counts=True, counts_groups=True, remembers=True)
    learn(truth, copy, 0, 700.0)
    assert memory_of(copy, 0).updates == 3.0  # with that before the first contact
    assert memory_of(learnt, 0).updates == 2.0
    assert copy.rates.tolist() != learnt.rates.tolist()
    assert (updates_learnt(truth, copy, 0), in_window(copy, truth, 0, 700.0)[0]) == ([250.0, 600.0], 2)
    assert (updates_learnt(truth, learnt, 0), in_window(learnt, truth, 0, 700.0)[0]) == ([250.0], 1)
    learn(truth, learnt, 0, 1000.0)
    assert updates_learnt(truth, learnt, 0) == [250.0, 900.0]
