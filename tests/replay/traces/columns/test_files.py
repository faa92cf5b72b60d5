"""Our columnar form is the same in every kind of file."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.columns.columnar import Table, Text, table_of
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import WRITERS, read_requests, read_updates, writer_for
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats import npz
from bestbefore.replay.traces.inference.accesses import Accesses, AccessRows
from bestbefore.replay.traces.reading import read_trace

needs_polars = pytest.mark.skipif(
    importlib.util.find_spec("polars") is None, reason="the extra parquet is not installed"
)
endings = pytest.mark.parametrize(
    "ending", [pytest.param(e, marks=[needs_polars] if e == ".parquet" else []) for e in WRITERS]
)


def no_warning(message: str) -> None:
    raise AssertionError(message)


def write(path: Path, trace: Updates | Accesses) -> None:
    with path.open("wb") as file:
        writer_for(path)(file, table_of(trace))


TIMES = st.one_of(st.integers(0, 2**40).map(float), st.floats(0, 1e18))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
OPTIONAL_NAMES = st.none() | NAMES.filter(bool)
ROWS = st.lists(
    st.tuples(TIMES, NAMES, NAMES, st.integers(-1, 999), st.integers(-1, 2**53), OPTIONAL_NAMES, OPTIONAL_NAMES)
)


@endings
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_what_is_written_is_read(tmp_path: Path, ending: str, given_rows: list) -> None:
    rows = AccessRows()
    for time_s, client, object_, status, size, validator, agent in given_rows:
        rows.append(time_s, client, object_, status=status, size_bytes=size, validator=validator, agent=agent)
    written = rows.accesses()
    path = tmp_path / f"trace{ending}"
    write(path, written)
    assert list(read_requests(path, no_warning).rows()) == list(written.requests.rows())
    if not given_rows:
        return
    trace = read_trace(path, None).trace
    assert isinstance(trace, Accesses)
    assert list(trace.requests.rows()) == list(written.requests.rows())
    for column in ("statuses", "sizes_bytes"):
        assert getattr(trace, column).tolist() == getattr(written, column).tolist()
    assert [trace.validators[i] if i >= 0 else None for i in trace.validator_ids] == [
        written.validators[i] if i >= 0 else None for i in written.validator_ids
    ]
    # Agents are not named, but the same are the same.
    same = written.agent_ids[:, None] == written.agent_ids
    assert np.array_equal(trace.agent_ids[:, None] == trace.agent_ids, same)


@endings
def test_updates_too_and_packed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"u{ending}"
    write(path, Updates.of(np.array([2.0, 1.5]), np.array([0, 1], dtype=np.int32), ("a", "é")))
    assert list(read_updates(path, no_warning).rows()) == [(1.5, "é"), (2.0, "a")]
    path.write_bytes(gzip.compress(path.read_bytes()))
    if not ending.endswith(".gz"):
        assert list(read_updates(path, no_warning).rows()) == [(1.5, "é"), (2.0, "a")]


@endings
def test_equal_traces_are_equal_files(tmp_path: Path, ending: str) -> None:
    updates = Updates.of(np.array([2.0, 1.5]), np.array([0, 1], dtype=np.int32), ("a", "b"))
    for name in ("u", "v"):
        write(tmp_path / f"{name}{ending}", updates)
    assert (tmp_path / f"u{ending}").read_bytes() == (tmp_path / f"v{ending}").read_bytes()


def test_csv_is_as_short_as_it_can_be(tmp_path: Path) -> None:
    rows = AccessRows()
    rows.append(1706295602.0, "x", "/a", status=200, size_bytes=5, validator='"e"', agent="Firefox")
    rows.append(1706295602.5, "y", "/b", status=304)
    write(tmp_path / "r.csv", rows.accesses())
    assert (tmp_path / "r.csv").read_text() == (
        'time,client,object,validator,agent,size,status\n1706295602,x,/a,"""e""",0,5,200\n1706295602.5,y,/b,,,,304\n'
    )


def test_an_archive_made_by_hand_may_hold_the_names_themselves(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with path.open("wb") as file:
        np.savez_compressed(file, time=[3, 1], object=["b", "a"], client=[7, 8])
    warnings: list[str] = []
    assert list(read_requests(path, warnings.append).rows()) == [(1.0, "8", "a"), (3.0, "7", "b")]
    assert warnings == [f"{path}: out of order, sorted by time"]


@needs_polars
def test_parquet_of_others(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "trace"
    columns = {"time": [3, 1], "client": ["x", "y"], "object": [8, 9], "size": [5, None], "validator": [None, "v"]}
    pl.DataFrame(columns).write_parquet(path)
    trace = read_trace(path, None).trace
    assert isinstance(trace, Accesses)
    assert list(trace.requests.rows()) == [(1.0, "y", "9"), (3.0, "x", "8")]
    assert (trace.sizes_bytes.tolist(), trace.validator_ids.tolist()) == ([-1, 5], [0, -1])


def test_without_polars_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and more")
    needed = r"Parquet needs the extra 'parquet': pip install '.\[parquet\]' in a clone \(.npz needs none\)$"
    with pytest.raises(TraceError, match=f"^{path}: {needed}"):
        read_updates(path, no_warning)
    with pytest.raises(TraceError, match=f"^{needed}"):  # before anything is read that is to be written
        writer_for(path)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"PK\x03\x04 time.npy and nonsense", "not an archive of columns: File is not a zip file"),
        pytest.param(b"PAR1 and nonsense", "not Parquet: ", marks=needs_polars),
        (b"time,x\n", "line 1: no column 'object' in 'time,x': expected object,time"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path: Path, content: bytes, wrong: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(TraceError) as error:
        read_updates(path, no_warning)
    assert str(error.value).startswith(f"{path}: {wrong}")
    assert "\n" not in str(error.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    np.savez(path, time=[1.0], objects=["a"])
    with pytest.raises(TraceError, match=f"^{path}: no column 'object' in 'time,objects': expected object,time$"):
        read_updates(path, no_warning)


def test_nothing_in_an_archive_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    np.savez(path, time=[1.0], object=np.array(["a"], dtype=object))
    with pytest.raises(TraceError, match=f"^{path}: a column holds Python objects: expected text "):
        read_updates(path, no_warning)


def test_a_name_without_a_known_ending_is_refused() -> None:
    for name in ("trace", "trace.txt", ".csv"):
        with pytest.raises(ValueError, match=rf"^{name}: expected a name that ends in .npz, .parquet, .csv, .csv.gz$"):
            writer_for(Path(name))


def test_a_large_archive_is_mapped_and_holds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.npz"
    with path.open("wb") as file:
        npz.write_table(file, Table(
            np.array([1.0, 2.0, 3.0]),
            {"client": Text(np.array([0, 1, 0], dtype=np.int32), ("x", "y")),
             "object": Text(np.array([1, 0, 1], dtype=np.int32), ("ä", "b"))},
        ))
    read = read_requests(path, no_warning)
    monkeypatch.setattr(npz, "MAPPED_BYTES", 0)
    mapped = read_requests(path, no_warning)
    assert not mapped.times_s.flags.owndata
    assert list(mapped.rows()) == list(read.rows()) == [(1.0, "x", "b"), (2.0, "y", "ä"), (3.0, "x", "b")]


@needs_polars
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_parquet_on_a_full_disk_is_an_error_of_the_disk() -> None:
    table = Table(np.zeros(1), {"object": Text(np.zeros(1, np.int32), ("a",))})
    with pytest.raises(OSError, match="No space left on device"), Path("/dev/full").open("wb") as file:
        WRITERS[".parquet"](file, table)


@needs_polars
def test_a_column_of_parquet_that_should_be_numbers_is_named(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "t.parquet"
    for times, kind in (["1"], "String"), (pl.Series([0]).cast(pl.Datetime("us")), "Datetime"):
        pl.DataFrame({"time": times, "object": ["a"]}).write_parquet(path)
        with pytest.raises(TraceError, match=rf"^{path}: column 'time' is of type {kind}.*: expected numbers$"):
            read_updates(path, no_warning)
    pl.DataFrame({"time": [0], "client": ["b"], "object": ["a"], "size": [None]}).write_parquet(path)
    trace = read_trace(path, None).trace
    assert isinstance(trace, Accesses)
    assert trace.sizes_bytes.tolist() == [-1]
