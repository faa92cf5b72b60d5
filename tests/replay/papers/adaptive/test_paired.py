import numpy as np
import pytest

from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0


def trace() -> Paired:
    updates = Updates.of(
        ORIGIN_S + np.array([1.0, 1.0, 2.0, 3.0, 9 * DAY]), np.array([0, 1, 1, 2, 0], np.int32), ("b1", "c1", "m")
    )
    requests = Requests.of(
        ORIGIN_S + np.array([4.0, 5.0, 6.0, 7.0, 10 * DAY]), np.zeros(5, np.int32), np.array([1, 1, 0, 2, 1], np.int32),
        ("x",), ("m", "c1", "b1"),
    )
    return Paired(updates, requests, {"b1": "bursty", "c1": "cyclic", "m": "mixed"})


def test_the_objects_asked_for_most_come_first() -> None:
    assert trace().most_requested() == ["c1", "b1", "m"]
    assert trace().most_requested("mixed") == ["m"]


def test_of_some_objects_updates_and_requests_are_left() -> None:
    only = trace().only({"m"})
    assert [name for _, name in only.updates.rows()] == ["m"]
    assert [name for *_, name in only.requests.rows()] == ["m"]
    assert list(trace().of_class("bursty").updates.times_by_object()) == ["b1"]


def test_a_merged_pair_has_the_updates_and_requests_of_both() -> None:
    pairs = trace().pairs(0)
    assert pairs == {"b1": "c1"}
    merged = trace().merged(pairs)
    # Both changed in the first second: one update.
    assert {name: (times - ORIGIN_S).tolist() for name, times in merged.updates.times_by_object().items()} == {
        "c1": [1.0, 2.0, 9 * DAY]
    }
    assert [name for *_, name in merged.requests.rows()] == ["c1"] * 4


def test_the_first_days_end_the_trace() -> None:
    early = trace().first_days(8)
    assert (len(early.updates), len(early.requests)) == (4, 4)


def test_requests_are_replayed_after_the_training() -> None:
    scenario = trace().scenario(Cache.SHARED, 8)
    assert (len(scenario.updates), len(scenario.requests), scenario.origin_s) == (5, 1, ORIGIN_S)


def test_the_trace_is_read_with_its_classes(work: Work) -> None:
    paired = Paired.read(work)
    assert len(paired.updates) == 453
    assert len(paired.requests) == 2189
    assert paired.classes["ipr/57"] == "bursty"


def test_the_partners_are_drawn_with_the_seed(work: Work) -> None:
    paired = Paired.read(work)
    assert paired.pairs(1) == paired.pairs(1)
    assert set(paired.pairs(1)) == set(paired.pairs(2)) == {"ipr/57", "ipr/99", "scoop-extras/120"}
    assert any(paired.pairs(1) != paired.pairs(seed) for seed in range(2, 6))
    assert len(set(paired.pairs(1).values())) == 3


@pytest.mark.parametrize("cache", list(Cache))
def test_a_trace_without_requests_can_be_replayed(cache: Cache) -> None:
    assert len(trace().only(set()).scenario(cache, 8).requests) == 0
