from pathlib import Path

import pytest

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.table import FORMATS
from bestbefore.replay.traces.reading import format_named, read_trace


def test_if_no_format_is_recognised_all_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"hello\n")
    with pytest.raises(TraceError) as error:
        read_trace(path, None)
    assert str(error.value) == (
        f"{path}: looks like none of the formats; name one with --format: {', '.join(FORMATS)}"
    )


def test_if_two_formats_are_recognised_both_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] "GET /a HTTP/1.1" 200 5\n'
                     b"1286536309.450 921 192.168.0.1 TCP_MISS/200 507 GET http://a/ - DIRECT/192.0.2.1 text/plain\n")
    with pytest.raises(TraceError) as error:
        read_trace(path, None)
    assert str(error.value) == f"{path}: looks like common and squid; name one with --format"


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"")
    with pytest.raises(TraceError, match=f"^{tmp_path / 't'}: empty$"):
        read_trace(tmp_path / "t", None)


def test_if_nothing_is_left_it_is_said_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b'x - - [10/Oct/2000:20:55:36 +0000] "POST / HTTP/1.1" 200 5\n\nbad\nworse\n')
    with pytest.raises(TraceError) as error:
        read_trace(path, "common")
    assert str(error.value) == (
        f"{path}: nothing usable, read as common (Apache or nginx common log); requests left out, not a GET: 1; "
        f"bad entries: 2, the first: {path}: line 3: 'bad': expected a line of an access log"
    )


def test_what_is_no_archive_is_not_taken_for_a_pickle(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"object,time\na,1\n")
    with pytest.raises(TraceError, match=f"^{tmp_path / 't'}: not an archive of columns: expected one that np.savez"):
        read_trace(tmp_path / "t", "npz")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"^{tmp_path / 'none'}: No such file or directory$"):
        read_trace(tmp_path / "none", None)


def test_an_unknown_name_meets_the_nearest() -> None:
    assert format_named("squid") == "squid"
    with pytest.raises(ValueError, match=r"^unknown format 'squib', did you mean 'squid'\? \(known: csv, npz, "):
        format_named("squib")
    with pytest.raises(ValueError, match=r"^unknown format 'xyz' \(known: csv, npz, "):
        format_named("xyz")
