from pathlib import Path

import numpy as np
import pytest

from bestbefore.replay.traces.columns.columnar import Table, Text, checked, named, table_of
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows


def table(**changes: object) -> Table:
    """Two requests, and the columns given in place of theirs."""
    columns = {"time": [1.0, 2.0], "client": [0, 0], "object": [0, 1], **changes}
    names = {"client": ("x",), "object": ("a", "b"), "validator": ("v",), "agent": ("f",)}
    return Table(
        np.array(columns["time"]),
        {column: Text(np.array(columns[column]), names[column]) for column in names if column in columns},
        {column: np.array(columns[column]) for column in ("size", "status") if column in columns},
    )


def test_what_speaks_of_no_requests_is_updates() -> None:
    only = Table(np.array([2.0, 1.0]), {"object": Text(np.array([0, 0], dtype=np.int32), ("a",))})
    trace = only.trace()
    assert isinstance(trace, Updates)
    assert list(trace.rows()) == [(1.0, "a"), (2.0, "a")]


def test_requests_without_clients_are_those_of_one() -> None:
    told = checked(Path("t"), table(size=[5, 6]))
    trace = Table(told.times_s, {"object": told.texts["object"]}, told.numbers).trace()
    assert isinstance(trace, Accesses)
    assert list(trace.requests.rows()) == [(1.0, "", "a"), (2.0, "", "b")]
    assert trace.sizes_bytes.tolist() == [5, 6]


def test_columns_that_are_unknown_in_all_rows_are_left_out() -> None:
    rows = AccessRows()
    rows.append(1.0, "x", "a", status=200)
    rows.append(2.0, "x", "a", agent="Firefox")
    columns = table_of(rows.accesses())
    assert set(columns.texts) == {"client", "object", "agent"}
    assert set(columns.numbers) == {"status"}
    assert columns.numbers["status"].tolist() == [200, UNKNOWN]
    assert columns.texts["agent"].names == ("0",)


def test_names_may_stand_for_themselves() -> None:
    column = named(np.array(["b", "a", "b"]))
    assert (column.ids.tolist(), column.names) == ([1, 0, 1], ("a", "b"))
    assert named(np.array([7, 5])).names == ("5", "7")
    with pytest.raises(ValueError, match="names of type float64: expected text or whole numbers"):
        named(np.array([1.5]))


def test_numbers_of_other_types_are_taken_if_they_mean_the_same() -> None:
    right = checked(Path("t"), table(time=[1, 2], size=[5.0, np.nan], status=np.array([200, 304], dtype=np.uint16)))
    assert right.times_s.dtype == np.float64
    assert right.numbers["size"].tolist() == [5, UNKNOWN]
    assert right.numbers["status"].tolist() == [200, 304]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"time": [1.0, np.nan]}, "row 2: time nan: expected a number of Unix seconds, finite and 0 or more"),
        ({"time": [-1, 2]}, "row 1: time -1.0: expected a number of Unix seconds, finite and 0 or more"),
        ({"time": ["1", "2"]}, "column 'time' is of type <U1 and shape (2,): expected numbers, as many as there are t"),
        ({"time": 1.0, "client": 0, "object": 0}, "column 'time' is of type float64 and shape (): expected numbers"),
        ({"object": [0, 1, 1]}, "column 'object' is of type int64 and shape (3,): expected numbers, as many as there"),
        ({"object": [0, 2]}, "row 2: object 2: expected the number of a name"),
        ({"object": [-2, 0]}, "row 1: object -2: expected the number of a name"),
        ({"object": [0, -1]}, "row 2: no object"),
        ({"validator": [-1, 1]}, "row 2: validator 1: expected the number of a name"),
        ({"size": [5, -2]}, "row 2: size -2: expected a whole number up to 9007199254740992"),
        ({"size": [5, 1.5]}, "row 2: size 1.5: expected a whole number"),
        ({"status": [1000, 200]}, "row 1: status 1000: expected a whole number up to 999"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(changes: dict[str, object], wrong: str) -> None:
    with pytest.raises(TraceError) as error:
        checked(Path("t"), table(**changes))
    assert str(error.value).startswith(f"t: {wrong}")
