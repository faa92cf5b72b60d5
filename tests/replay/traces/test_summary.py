import numpy as np

from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.inference.accesses import AccessRows
from bestbefore.replay.traces.summary import summary


def test_a_log_in_words() -> None:
    rows = AccessRows()
    for time_s, client in ((0.0, "x"), (2 * 86400.0, "y"), (86400.0, "x")):
        rows.append(time_s, client, "/a")
    assert summary(rows.accesses()) == (
        "3 requests by 2 clients for 1 object in 2.0 d, sorted by time (some stood up to 1.0 d late)"
    )


def test_updates_in_words() -> None:
    updates = Updates.of(np.array([1.0, 91.0]), np.array([0, 2], dtype=np.int32), ("a", "unused", "b"))
    assert summary(updates) == "2 updates of 2 objects in 1.5 min"
    one = Updates.of(np.array([1.0]), np.array([0], dtype=np.int32), ("a",))
    assert summary(one) == "1 update of 1 object in 0.0 s"
