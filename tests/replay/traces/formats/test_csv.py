import gzip
from pathlib import Path

import pytest

from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError

LARGE_GZ = gzip.compress(b"object,time\n" + b"a,1\n" * 9999, mtime=0)


def no_warning(message: str) -> None:
    raise AssertionError(message)


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "trace.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def error_of(path: Path) -> str:
    with pytest.raises(TraceError) as error:
        read_updates(path, no_warning)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_updates(tmp_path: Path) -> None:
    trace = read_updates(write(tmp_path, "object,time\na,1\nb,2.5\na,1e1\n"), no_warning)
    assert list(trace.rows()) == [(1.0, "a"), (2.5, "b"), (10.0, "a")]


def test_requests_have_their_columns_in_any_order_beside_others(tmp_path: Path) -> None:
    path = write(tmp_path, "size,object,client,time\n17,a,x,1\n,b,y,2\n")
    assert list(read_requests(path, no_warning).rows()) == [(1.0, "x", "a"), (2.0, "y", "b")]


@pytest.mark.parametrize("name", ["a b", "ä/ß?q=1", "0", "", '"quoted", with a comma', "two\nlines"])
def test_ids_are_any_text(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    assert list(read_updates(write(tmp_path, f"object,time\n{quoted},1\n"), no_warning).rows()) == [(1.0, name)]


@pytest.mark.parametrize("text", ["object,time\r\na,1\r\n", "\ufeffobject,time\na,1", "object,time\n\na,1\n\n"])
def test_line_ends_a_byte_order_mark_and_empty_lines_do_not_matter(tmp_path: Path, text: str) -> None:
    assert list(read_updates(write(tmp_path, text), no_warning).rows()) == [(1.0, "a")]


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"object,time\na,1\n"))
    assert list(read_updates(path, no_warning).rows()) == [(1.0, "a")]


def test_a_trace_without_rows_is_empty(tmp_path: Path) -> None:
    assert len(read_updates(write(tmp_path, "object,time\n"), no_warning)) == 0


def test_rows_out_of_order_are_sorted_with_one_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    path = write(tmp_path, "object,time\nb,3\na,2\nb,1\n")
    assert list(read_updates(path, warnings.append).rows()) == [(1.0, "b"), (2.0, "a"), (3.0, "b")]
    assert warnings == [f"{path}: out of order, sorted by time"]


def test_an_update_given_twice_is_one(tmp_path: Path) -> None:
    assert len(read_updates(write(tmp_path, "object,time\na,1\nb,1\na,1\n"), no_warning)) == 2


@pytest.mark.parametrize("value", ["abc", "", "nan", "inf", "-inf", "-1", "1_000", "1,5"])
def test_a_time_that_is_none_is_named_with_its_line(tmp_path: Path, value: str) -> None:
    path = write(tmp_path, f'object,time\na,1\n\nb,"{value}"\n')
    expected = f"{path}: line 4: time {value!r}: expected a number of Unix seconds, finite and 0 or more"
    assert error_of(path) == expected


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("", "line 1: no header: expected object,time"),
        ("object,tme\na,1\n", "line 1: no column 'time' in 'object,tme': expected object,time"),
        ("object,time\na,1\nb\n", "line 3: 1 fields, 'b': expected 2 as in the header"),
        ("object,time\na,b,1\n", "line 2: 3 fields, 'a,b,1': expected 2 as in the header"),
        (b"object,time\ncaf\xe9,1\n", r"line 2: object b'caf\xe9': expected UTF-8 text"),
        ('object,time\n"a,1\n', "line 2: not CSV: unexpected end of data"),
        ("object,time\n" + "x" * 200_000 + ",1\n", "line 2: not CSV: field larger than field limit (131072)"),
        ("object,time\na," + "9" * 1000 + "x\n", f"line 2: time '{'9' * 80}...': expected a number"),
        (LARGE_GZ[:60], "the gzip data are corrupt or truncated: Compressed"),
        (b"\x1f\x8bnonsense and more", "the gzip data are corrupt or truncated: "),
        ("object,time\n".encode("utf-16"), "line 1: no column 'object' in "),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path: Path, content: str | bytes, wrong: str) -> None:
    path = write(tmp_path, content)
    assert error_of(path).startswith(f"{path}: {wrong}")


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    assert error_of(tmp_path / "none.csv") == f"{tmp_path / 'none.csv'}: No such file or directory"
    assert error_of(tmp_path) == f"{tmp_path}: Is a directory"


def test_requests_given_as_updates_are_recognised_by_their_header(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no column 'client' in 'object,time': expected time,client,object"):
        read_requests(write(tmp_path, "object,time\na,1\n"), no_warning)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_line_without_end_is_refused_before_memory_is_full() -> None:
    with pytest.raises(TraceError, match=r"^/dev/zero: line 1: not CSV: field larger than field limit"):
        read_updates(Path("/dev/zero"), no_warning)


def test_long_lines_are_whole(tmp_path: Path) -> None:
    name, columns = "x" * 100_000, 30
    path = tmp_path / "t"
    path.write_text(f"object,time{",x" * columns}\n{name},1{f',{name}' * columns}\n")
    assert list(read_updates(path, no_warning).rows()) == [(1.0, name)]
