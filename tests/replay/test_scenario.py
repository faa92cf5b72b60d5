import numpy as np
import pytest

from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.traces.columns import Requests, Updates


def scenario(warnings: list[str], updates: list[float], requests: list[float], **options: float) -> Scenario:
    return Scenario.of(
        Updates.of(np.array(updates), np.zeros(len(updates), dtype=np.int32), ("a",)),
        Requests.of(
            np.array(requests), *(np.zeros(len(requests), dtype=np.int32) for _ in range(2)), ("x",), ("a",)
        ),
        warn=warnings.append,
        **options,
    )


def test_observation_begins_with_the_earliest_event_and_so_does_the_test() -> None:
    warnings: list[str] = []
    replayed = scenario(warnings, [20.0], [10.0, 30.0])
    assert replayed.known.history("a").since_s == 10.0
    assert len(replayed.requests) == 2
    assert replayed.cache is Cache.CLIENT
    assert warnings == []


def test_requests_before_the_test_start_are_left_out_and_updates_before_it_are_history() -> None:
    replayed = scenario([], [20.0], [10.0, 30.0, 40.0], test_start_s=30.0)
    assert replayed.requests.times_s.tolist() == [30.0, 40.0]
    assert replayed.known.history("a").times_s.tolist() == [20.0]


def test_updates_before_the_origin_are_dropped_with_one_warning() -> None:
    warnings: list[str] = []
    replayed = scenario(warnings, [1.0, 2.0, 5.0, 20.0], [10.0], origin_s=5.0)
    assert replayed.updates.times_s.tolist() == [5.0, 20.0]
    assert replayed.known.history("a").times_s.tolist() == [5.0, 20.0]
    assert warnings == ["2 updates before the origin, 5, dropped"]


def test_a_test_start_before_the_origin_is_refused() -> None:
    with pytest.raises(ValueError, match="the test start, 1706918400, must not lie before the origin, 1706918401"):
        scenario([], [], [], origin_s=1706918401.0, test_start_s=1706918400.0)


def test_it_is_said_if_no_request_is_left() -> None:
    warnings: list[str] = []
    scenario(warnings, [20.0], [10.0], test_start_s=11.5)
    assert warnings == ["no request at or after the test start, 11.5"]


def test_an_empty_trace_has_an_origin_too() -> None:
    assert len(scenario([], [], []).requests) == 0


def test_copies_are_parted_by_client_or_not_at_all() -> None:
    assert Cache.CLIENT.partition_of("x") == "x"
    assert Cache.SHARED.partition_of("x") == ""
