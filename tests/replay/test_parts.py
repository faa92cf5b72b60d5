import numpy as np
import pytest

from bestbefore.replay.parts import Parts
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates


def parts(
    updates: list[float],
    requests: list[float],
    origin_s: float | None = None,
    test_start_s: float | None = None,
    warm: Warm | None = None,
    warnings: list[str] | None = None,
) -> Parts:
    ids = np.zeros(len(requests), dtype=np.int32)
    asked = Requests.of(np.array(requests), ids, ids, ("x",), ("a",))
    scenario = Scenario.of(
        Updates.of(np.array(updates), np.zeros(len(updates), dtype=np.int32), ("a",)), asked,
        origin_s=origin_s, test_start_s=test_start_s, cache=Cache.SHARED, grouping=Grouping.ALL, warm=warm,
        warn=([] if warnings is None else warnings).append,
    )
    return Parts.of(scenario, asked)


def test_the_second_part_begins_after_two_thirds_of_the_time_from_the_first_request_to_the_last() -> None:
    found = parts([50.0, 210.0], [100.0, 101.0, 250.0, 300.0, 399.0, 400.0])
    assert (found.start_s, found.split_s, found.end_s) == (100.0, 300.0, 400.0)
    assert found.first.requests.times_s.tolist() == [100.0, 101.0, 250.0]
    assert found.then.requests.times_s.tolist() == [300.0, 399.0, 400.0]


def test_both_parts_know_what_happened_since_the_same_origin() -> None:
    found = parts([50.0, 210.0], [100.0, 250.0, 400.0])
    for scenario in (found.first, found.then):
        assert scenario.known.history("a").since_s == 50.0
        assert scenario.known.history("a").times_s.tolist() == [50.0, 210.0]


def test_requests_of_the_first_part_are_contacts_of_an_observer_in_the_second() -> None:
    found = parts([50.0, 210.0], [100.0, 250.0, 400.0], warm=Warm.CONTACTS)
    assert found.first.observed is not None
    assert found.then.observed is not None
    assert found.first.observed.records == {}
    record = found.then.observed.records["a"]
    assert (record.since_s, record.last_contact_s) == (100.0, 250.0)


def test_a_test_start_leaves_out_what_came_before() -> None:
    found = parts([], [10.0, 100.0, 250.0, 400.0], test_start_s=100.0)
    assert (found.start_s, found.split_s) == (100.0, 300.0)
    assert found.first.requests.times_s.tolist() == [100.0, 250.0]


def test_a_warning_is_given_once() -> None:
    warnings: list[str] = []
    parts([1.0, 50.0], [100.0, 250.0, 400.0], origin_s=20.0, warnings=warnings)
    assert warnings == ["1 updates before the origin, 20, dropped"]


@pytest.mark.parametrize(
    ("requests", "message"),
    [([], "no request to replay"), ([5.0], "all requests came at the same time"), ([5.0, 5.0], "all requests came at")],
)
def test_without_two_parts_there_is_a_message(requests: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parts([1.0], requests)
