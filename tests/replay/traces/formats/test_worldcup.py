import gzip
import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.formats.worldcup import CODES, FIRST_S, LAST_S, RECORD, looks_like_worldcup
from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.opening import BLOCK_BYTES
from bestbefore.replay.traces.reading import Reading, read_trace

Read = Callable[..., Reading]
Rows = Callable[[Reading], list[tuple[float, str, str, int, int]]]
ErrorOf = Callable[..., str]

OK_10, NOT_MODIFIED_10 = 0x40 | 2, 0x40 | 13


def record(
    time_s: int, client: int, object_: int, size: int, method: int = 0, status: int = OK_10, type_: int = 1
) -> bytes:
    return struct.pack(">IIIIBBBB", time_s, client, object_, size, method, status, type_, 0x61)


# The first lines of the archive's own test log, which its README prints in the common form.
LOG = (
    record(893971817, 34600, 4505, 24736)
    + record(893971853, 232, 4505, 24736)
    + record(893971879, 9719, 7, 3781)
    + record(893971882, 9719, 4504, 0xFFFFFFFF, status=NOT_MODIFIED_10)
)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_archives_own_example(read: Read, rows: Rows, pack: Callable[[bytes], bytes]) -> None:
    reading = read(pack(LOG), None)
    assert reading.format == "wc98"
    assert rows(reading) == [
        (893971817.0, "34600", "4505", 200, 24736),
        (893971853.0, "232", "4505", 200, 24736),
        (893971879.0, "9719", "7", 200, 3781),
        (893971882.0, "9719", "4504", 304, UNKNOWN),
    ]


def test_status_codes_count_up_through_those_of_http_1_1_in_1998() -> None:
    named = {0: 100, 2: 200, 8: 206, 9: 300, 13: 304, 14: 305, 15: 400, 19: 404, 30: 415, 31: 500, 36: 505, 37: UNKNOWN}
    assert {number: int(CODES[number]) for number in named} == named
    assert len(CODES) == 38


def test_a_truncated_record_is_reported(read: Read) -> None:
    reading = read(LOG[:-1], "wc98")
    assert len(reading.trace) == 3
    assert list(reading.skipped.warnings())[1].endswith("trace: record 4: 19 bytes: expected 20")


def test_other_methods_are_left_out_and_what_is_no_record_is_skipped(read: Read) -> None:
    head, bad = record(893971883, 1, 1, 5, method=1), record(893971884, 1, 1, 5, method=9)
    reading = read(LOG + head + bad + record(893971885, 1, 1, 5, type_=13), "wc98")
    assert len(reading.trace) == 4
    assert list(reading.skipped.notes.items()) == [("requests left out, not a GET", 1)]
    assert reading.skipped.count == 2
    wrong = "record 6: method 9, status 2, type 1: expected at most 8, 37, 12"
    assert list(reading.skipped.warnings())[1].endswith(wrong)


def test_an_empty_file_of_the_archive_is_reported(error_of: ErrorOf) -> None:
    assert error_of(gzip.compress(b""), None) == "empty"
    assert error_of(gzip.compress(b""), "wc98").startswith("nothing usable, read as wc98")


def test_it_is_known_by_its_times() -> None:
    assert looks_like_worldcup(LOG)
    assert looks_like_worldcup(LOG[:-3])
    assert not looks_like_worldcup(LOG[20:40] + LOG[:20])
    assert not looks_like_worldcup(b"")
    assert not looks_like_worldcup(record(LAST_S + 1, 1, 1, 1))


def test_records_across_blocks_are_whole(read: Read) -> None:
    count = 2 * BLOCK_BYTES // RECORD.itemsize
    records = np.zeros(count, dtype=RECORD)
    records["time"] = FIRST_S + np.arange(count)
    records["object"] = np.arange(count) % 1000 * 7
    trace = read(records.tobytes(), "wc98").trace
    assert trace.requests.times_s.tolist() == records["time"].tolist()
    assert [trace.requests.objects[i] for i in trace.requests.object_ids[:3]] == ["0", "7", "14"]
    assert len(trace.requests.objects) == 1000


NUMBER = st.integers(0, 0xFFFFFFFF)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 0xFFFFFFFF), NUMBER, NUMBER, st.integers(0, 0xFFFFFFFE)), min_size=1))
def test_what_is_written_is_read_however_scattered_the_numbers(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[tuple[int, int, int, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "wc98"
    path.write_bytes(b"".join(record(*row) for row in given_rows))
    trace = read_trace(path, "wc98").trace
    read_rows = zip(trace.requests.rows(), trace.sizes_bytes.tolist(), strict=True)
    expected = sorted(given_rows, key=lambda row: row[0])
    assert [(t, int(c), int(o), size) for (t, c, o), size in read_rows] == expected
