from collections.abc import Callable

import pytest

from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.reading import Reading

Read = Callable[..., Reading]
Rows = Callable[[Reading], list[tuple[float, str, str, int, int]]]

SAMPLE = b"1066036250.603 9 192.0.2.1 TCP_MISS/200 1150 GET http://example.com/ - DIRECT/192.0.2.1 text/html\n"
LOG = b"""1066036250.603  10342 129.250.35.42 TCP_MISS/200 1150 GET http://example.com/a? - DIRECT/192.0.2.1 text/html
1066036250.7      0 2001:db8::1 TCP_MEM_HIT/304 230 GET http://example.com/a? alice HIER_NONE/- -
1066036251.000     -1 192.0.2.9 TCP_REFRESH_UNMODIFIED/200 1160 GET http://example.com/b - HIER_DIRECT/192.0.2.1 image/png [Accept: */*\\r\\n] [HTTP/1.1 200 OK]
1066036252.000   1000 192.0.2.9 TCP_MISS_ABORTED/200 17 GET http://example.com/big - HIER_DIRECT/192.0.2.1 -
1066036252.001      5 192.0.2.9 TCP_TUNNEL/200 9000 CONNECT example.com:443 - HIER_DIRECT/192.0.2.1 -
1066036252.002      5 192.0.2.9 NONE_NONE/000 0 - error:transaction-end-before-headers - HIER_NONE/- -
"""  # noqa: E501


def test_a_log_that_begins_in_the_middle_of_a_line_is_known(read: Read) -> None:
    reading = read(LOG[20:], None)
    assert (reading.format, reading.skipped.count) == ("squid", 1)


def test_a_native_log(read: Read, rows: Rows) -> None:
    reading = read(LOG, None)
    assert reading.format == "squid"
    assert rows(reading) == [
        (1066036240.261, "129.250.35.42", "http://example.com/a?", 200, 1150),
        (1066036250.7, "2001:db8::1", "http://example.com/a?", 304, 230),
        (1066036251.0, "192.0.2.9", "http://example.com/b", 200, 1160),
        (1066036251.0, "192.0.2.9", "http://example.com/big", 200, UNKNOWN),
    ]
    assert list(reading.skipped.notes.items()) == [("requests left out, not a GET", 2)]
    assert reading.skipped.count == 0


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"1066036250.603 10 192.0.2.9 TCP_MISS/200", "expected at least 7 fields"),
        (LOG.replace(b"1066036250.603", b"soon", 1).split(b"\n")[0], "time and duration 'soon 10342': expected Unix"),
        (LOG.replace(b"1066036250.603", b"9.0", 1).split(b"\n")[0], "time and duration '9.0 10342': expected Unix"),
        (LOG.replace(b"1066036250.603", b"9" * 5000, 1).split(b"\n")[0], "expected Unix seconds and milliseconds"),
        (LOG.replace(b"1066036250.603", b"9" * 500, 1).split(b"\n")[0], "expected Unix seconds and milliseconds"),
        (LOG.replace(b"/200", b"", 1).split(b"\n")[0], "result 'TCP_MISS': expected one such as TCP_MISS/200"),
        (LOG.replace(b"1150", b"-", 1).split(b"\n")[0], "size '-': expected a whole number of bytes"),
    ],
)
def test_a_malformed_line_is_skipped_and_reported_with_its_number(read: Read, line: bytes, wrong: str) -> None:
    reading = read(LOG + b"\n" + line + b"\n", "squid")
    assert len(reading.trace) == 4
    first = list(reading.skipped.warnings())[1]
    assert "trace: line 8: " in first
    assert wrong in first
