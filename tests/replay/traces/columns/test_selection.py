import numpy as np

from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.selection import requests_of, updates_of

IDS = np.array([0, 1, 2, 1], dtype=np.int32)
NAMES = ("a", "b", "c")


def test_only_the_events_of_these_objects_are_kept_in_their_order() -> None:
    updates = updates_of(Updates(np.arange(4.0), IDS, NAMES), {"b", "other"})
    assert list(updates.rows()) == [(1.0, "b"), (3.0, "b")]
    requests = requests_of(Requests(np.arange(4.0), IDS, IDS, ("x", "y", "z"), NAMES), {"a", "c"})
    assert list(requests.rows()) == [(0.0, "x", "a"), (2.0, "z", "c")]


def test_there_may_be_none() -> None:
    assert len(updates_of(Updates(np.empty(0), IDS[:0], ()), {"a"})) == 0
