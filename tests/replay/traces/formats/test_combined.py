from calendar import timegm
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.formats.combined import looks_combined, looks_common
from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.reading import Reading, read_trace

Read = Callable[..., Reading]
Rows = Callable[[Reading], list[tuple[float, str, str, int, int]]]
ErrorOf = Callable[..., str]

APACHE = rb"""127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"
2001:db8::7 - - [10/Oct/2000:20:55:37 +0000] "GET /a HTTP/1.1" 304 - "-" "a \"quoted\" name \\"
::1 - John Doe [10/Oct/2000:20:55:38 +0000] "GET /b?q=\"x\" HTTP/2.0" 200 0 "-" "-"
"""  # noqa: E501
NGINX = rb"""192.0.2.1 - - [29/Feb/2024:23:59:60 +0500] "GET / HTTP/2.0" 200 612 "-" "curl/8.5.0" "203.0.113.9" rt=0.003
192.0.2.1 - - [29/Feb/2024:23:59:59 +0530] "GET /caf\xC3\xA9 HTTP/1.1" 206 10 "-" "x\x22y"
"""
VHOST = b"""example.org:443 192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] "GET /a HTTP/1.1" 200 99 "-" "curl"
[2001:db8::1]:80 2001:db8::2 - - [10/Oct/2000:20:55:37 +0000] "GET /a HTTP/1.1" 200 99 "-" "curl"
"""
COMMON = b"""host.example - - [01/Jul/1995:00:00:01 -0400] "GET /history/apollo/ HTTP/1.0" 200 6245
host.example - - [01/Jul/1995:00:00:02 -0400] "GET /old" 404 -
"""


def test_apache(read: Read, rows: Rows) -> None:
    reading = read(APACHE, None)
    assert reading.format == "combined"
    t = timegm((2000, 10, 10, 20, 55, 36))
    assert rows(reading) == [
        (t, "127.0.0.1", "/apache_pb.gif", 200, 2326),
        (t + 1, "2001:db8::7", "/a", 304, UNKNOWN),
        (t + 2, "::1", r"/b?q=\"x\"", 200, 0),
    ]
    assert reading.trace.agent_ids.tolist() == [0, 1, 2]
    assert reading.skipped.count == 0


def test_nginx_with_more_behind_the_line_and_a_leap_second(read: Read, rows: Rows) -> None:
    t = timegm((2024, 2, 29, 18, 29, 59))
    assert rows(read(NGINX, None)) == [
        (t, "192.0.2.1", r"/caf\xC3\xA9", 206, 10),
        (t + 1801, "192.0.2.1", "/", 200, 612),
    ]


def test_a_host_before_the_line_belongs_to_the_object(read: Read, rows: Rows) -> None:
    assert [row[1:3] for row in rows(read(VHOST, None))] == [
        ("192.0.2.1", "example.org/a"),
        ("2001:db8::2", "[2001:db8::1]/a"),
    ]


def test_the_common_form_names_no_agents(read: Read, rows: Rows) -> None:
    reading = read(COMMON, None)
    assert reading.format == "common"
    assert rows(reading) == [
        (804571201.0, "host.example", "/history/apollo/", 200, 6245),
        (804571202.0, "host.example", "/old", 404, UNKNOWN),
    ]
    assert reading.trace.agent_ids.tolist() == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("request_", ['HEAD / HTTP/1.1', 'POST /a HTTP/1.1', '-', '', r'\x16\x03\x01', 'GET', 'GET '])
def test_what_is_no_get_is_left_out_and_counted(read: Read, rows: Rows, request_: str) -> None:
    line = f'192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] "{request_}" 400 5 "-" "-"\n'.encode()
    reading = read(APACHE + line, "combined")
    assert len(rows(reading)) == 3
    assert list(reading.skipped.notes.items()) == [("requests left out, not a GET", 1)]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"nonsense", "'nonsense': expected a line of an access log"),
        (APACHE.split(b"\n")[0][:60], "expected a line of an access log"),
        (b'x - - [31/Feb/2000:20:55:36 +0000] "GET / HTTP/1.1" 200 5', "time '31/Feb/2000:20:55:36 +0000': expected"),
        (b'x - - [10/Foo/2000:20:55:36 +0000] "GET / HTTP/1.1" 200 5', "time '10/Foo/2000:20:55:36 +0000': expected"),
        (b'x - - [10/Oct/1969:20:55:36 +0000] "GET / HTTP/1.1" 200 5', "time '10/Oct/1969:20:55:36 +0000': expected"),
        (b'x - - [10/Oct/2000:20:55:61 +0000] "GET / HTTP/1.1" 200 5', "time '10/Oct/2000:20:55:61 +0000': expected"),
        (b'x - - [10/Oct/2000:20:55:36 +9999] "GET / HTTP/1.1" 200 5', "time '10/Oct/2000:20:55:36 +9999': expected"),
    ],
)
def test_a_malformed_line_is_skipped_and_reported_with_its_number(read: Read, line: bytes, wrong: str) -> None:
    reading = read(APACHE + b"\n" + line + b"\n" + APACHE, "combined")
    assert len(reading.trace) == 6
    first = list(reading.skipped.warnings())[1]
    assert f"trace: line 5: {wrong}" in first or (first.endswith(wrong) and ": line 5: " in first)


def test_bytes_that_are_no_utf_8_are_kept_apart(read: Read, rows: Rows) -> None:
    lines = b"".join(b'x - - [10/Oct/2000:20:55:36 +0000] "GET /%b HTTP/1.1" 200 5\n' % b for b in (b"\xe9", b"\xe8"))
    assert [row[2] for row in rows(read(lines, "common"))] == [r"/\xe9", r"/\xe8"]


def test_utf_16_is_refused_in_one_line(error_of: ErrorOf) -> None:
    assert error_of(APACHE.decode("latin-1").encode("utf-16"), "combined").startswith(
        "nothing usable, read as combined (Apache or nginx combined log); bad entries: "
    )


def test_lines_after_a_clock_that_jumps_back_are_sorted_and_reported(read: Read) -> None:
    reading = read(b"".join(reversed(APACHE.splitlines(keepends=True))), "combined")
    assert reading.trace.requests.times_s.tolist() == sorted(reading.trace.requests.times_s.tolist())
    assert reading.trace.late_s == 2.0


@pytest.mark.parametrize(("log", "form"), [(APACHE, "combined"), (COMMON, "common")])
def test_a_log_that_begins_in_the_middle_of_a_line_is_known(read: Read, log: bytes, form: str) -> None:
    reading = read(log[20:], None)
    assert (reading.format, reading.skipped.count) == (form, 1)


def test_the_first_line_distinguishes_the_two_forms() -> None:
    assert looks_combined(APACHE)
    assert not looks_common(APACHE)
    assert looks_common(COMMON)
    assert not looks_combined(COMMON)
    assert not looks_common(b"")


TARGET = st.text(st.characters(exclude_characters='"\\\n\r', exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.integers(0, 4102444799),
    st.ip_addresses().map(str),
    TARGET.map(lambda target: "/" + target),
    st.integers(100, 599),
    st.integers(0, 10**12),
    st.integers(-14 * 4, 14 * 4),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    time_s: int,
    client: str,
    target: str,
    status: int,
    size: int,
    quarters: int,
) -> None:
    at = datetime.fromtimestamp(time_s, UTC).astimezone(timezone(timedelta(minutes=15 * quarters)))
    path = tmp_path_factory.getbasetemp() / "written"
    path.write_text(f'{client} - - [{at:%d/%b/%Y:%H:%M:%S %z}] "GET {target} HTTP/1.1" {status} {size} "-" "a"\n')
    trace = read_trace(path, "combined").trace
    assert list(trace.requests.rows()) == [(time_s, client, target)]
    assert (trace.statuses.tolist(), trace.sizes_bytes.tolist()) == ([status], [size])
