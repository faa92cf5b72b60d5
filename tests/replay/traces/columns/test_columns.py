import numpy as np

from bestbefore.replay.traces.columns.columns import Requests, Updates


def updates(*rows: tuple[float, int]) -> Updates:
    times, ids = zip(*rows, strict=True) if rows else ((), ())
    return Updates.of(np.array(times, dtype=float), np.array(ids, dtype=np.int32), ("a", "b", "c"))


def requests(*rows: tuple[float, int, int]) -> Requests:
    times, clients, ids = zip(*rows, strict=True)
    return Requests.of(
        np.array(times), np.array(clients, dtype=np.int32), np.array(ids, dtype=np.int32), ("x", "y"), ("a", "b", "c")
    )


def test_updates_are_sorted_and_one_object_changes_once_at_an_instant() -> None:
    trace = updates((3.0, 0), (1.0, 1), (3.0, 1), (3.0, 0))
    assert list(trace.rows()) == [(1.0, "b"), (3.0, "a"), (3.0, "b")]
    assert len(trace) == 3


def test_updates_of_each_object_are_ascending_and_objects_without_any_are_left_out() -> None:
    times = updates((3.0, 2), (1.0, 0), (2.0, 2), (5.0, 0)).times_by_object()
    assert {name: t.tolist() for name, t in times.items()} == {"a": [1.0, 5.0], "c": [2.0, 3.0]}
    assert updates().times_by_object() == {}


def test_requests_at_the_same_instant_keep_their_order() -> None:
    trace = requests((2.0, 0, 2), (1.0, 1, 0), (2.0, 1, 1), (2.0, 0, 0))
    assert list(trace.rows()) == [(1.0, "y", "a"), (2.0, "x", "c"), (2.0, "y", "b"), (2.0, "x", "a")]


def test_since_includes_its_moment() -> None:
    trace = updates((1.0, 0), (2.0, 0), (2.0, 1), (3.0, 0))
    assert list(trace.since(2.0).rows()) == [(2.0, "a"), (2.0, "b"), (3.0, "a")]
    late = requests((1.0, 0, 0), (2.0, 1, 1)).since(2.0)
    assert list(late.rows()) == [(2.0, "y", "b")]
    assert late.requested() == {"b"}
    assert late.is_requested().tolist() == [False, True, False]
