from bestbefore.replay.traces.inference.accesses import UNKNOWN, AccessRows


def test_rows_are_sorted_by_time_with_all_their_columns() -> None:
    rows = AccessRows()
    rows.append(20.0, "x", "/a", status=200, size_bytes=5, validator="v", agent="m")
    rows.append(10.0, "y", "/b")
    accesses = rows.accesses()
    assert list(accesses.requests.rows()) == [(10.0, "y", "/b"), (20.0, "x", "/a")]
    assert accesses.statuses.tolist() == [UNKNOWN, 200]
    assert accesses.sizes_bytes.tolist() == [UNKNOWN, 5]
    assert (accesses.validator_ids.tolist(), accesses.validators) == ([UNKNOWN, 0], ("v",))
    assert accesses.agent_ids.tolist() == [UNKNOWN, 0]
    assert accesses.late_s == 10.0


def test_requests_are_answered_with_the_object_or_that_it_has_not_changed() -> None:
    rows = AccessRows()
    for time_s, status in enumerate((200, 203, 304, UNKNOWN, 206, 301, 404, 500, 0)):
        rows.append(float(time_s), "x", "/a", status=status)
    assert rows.accesses().answered().times_s.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_if_all_are_answered_nothing_is_copied() -> None:
    rows = AccessRows()
    rows.append(1.0, "x", "/a", status=200)
    accesses = rows.accesses()
    assert accesses.answered() is accesses.requests
    assert accesses.late_s == 0.0


def test_a_log_may_be_empty() -> None:
    assert len(AccessRows().accesses()) == 0
