"""Flow files written by mitmproxy itself, and the same flows as the HAR that it writes."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from bestbefore.replay.traces.reading import Reading

Read = Callable[..., Reading]
Rows = Callable[[Reading], list[tuple[float, str, str, int, int]]]
ErrorOf = Callable[..., str]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # mitmproxy's own use of pyparsing

DATE = b"Fri, 20 Nov 2026 07:04:00 GMT"


@pytest.fixture
def flows() -> list[Any]:
    """A page twice, the second time from another client and changed; and flows that are no such requests."""
    from mitmproxy.test import tflow, tutils

    def page(time_s: float, client: str, path: bytes, content: bytes, *headers: tuple[bytes, bytes]) -> Any:
        flow = tflow.tflow(
            req=tutils.treq(
                host="example.org", port=443, scheme=b"https", path=path, authority=b"", timestamp_start=time_s,
                timestamp_end=time_s + 0.1,
            ),
            resp=tutils.tresp(content=content, timestamp_start=time_s + 0.2, timestamp_end=time_s + 0.3),
        )
        flow.client_conn.peername = (client, 12345)
        flow.request.headers["User-Agent"] = "curl"
        flow.response.headers.fields = headers
        return flow

    return [
        page(200.5, "192.0.2.2", b"/a", b"longer", (b"ETag", b'W/"e"')),
        page(100.5, "2001:db8::1", b"/a", b"short", (b"Last-Modified", DATE), (b"ETag", b'"e"')),
        page(300.5, "192.0.2.2", b"/b\xff", b"plain"),
        tflow.tflow(req=tutils.treq(method=b"POST"), resp=True),
        tflow.tflow(err=True),
        tflow.ttcpflow(),
        tflow.tdnsflow(),
    ]


@pytest.fixture
def file(flows: list[Any]) -> bytes:
    from mitmproxy.io import FlowWriter

    file = BytesIO()
    for flow in flows:
        FlowWriter(file).add(flow)
    return file.getvalue()


def test_a_flow_file(read: Read, rows: Rows, file: bytes) -> None:
    reading = read(file, None)
    assert reading.format == "mitmproxy"
    assert rows(reading) == [
        (100.5, "2001:db8::1", "https://example.org/a", 200, 5),
        (200.5, "192.0.2.2", "https://example.org/a", 200, 6),
        (300.5, "192.0.2.2", r"https://example.org/b\udcff", 200, 5),
    ]
    last_modified, etag, hash_ = (reading.trace.validators[i] for i in reading.trace.validator_ids)
    assert (last_modified, etag, len(hash_)) == (DATE.decode(), '"e"', 32)
    assert reading.trace.agent_ids.tolist() == [0, 0, 0]
    assert list(reading.skipped.notes.items()) == [("flows left out, not a GET that was answered", 4)]
    assert reading.skipped.count == 0


def test_the_har_of_the_same_flows_gives_the_same_rows(read: Read, rows: Rows, flows: list[Any]) -> None:
    from mitmproxy.addons.savehar import SaveHar

    del flows[2]  # JSON has no bytes
    har = json.dumps(SaveHar().make_har(flows)).encode()
    assert [(t, object_, status, size) for t, _, object_, status, size in rows(read(har, None))][:2] == [
        (100.5, "https://example.org/a", 200, 5),
        (200.5, "https://example.org/a", 200, 6),
    ]


def test_a_file_cut_short_is_read_up_to_there(read: Read, file: bytes) -> None:
    reading = read(file[: len(file) // 3], "mitmproxy")
    assert 0 < len(reading.trace) < 3
    assert "bytes" in list(reading.skipped.warnings())[1]
    assert ": cut short: " in list(reading.skipped.warnings())[1]


def test_a_bad_flow_is_skipped_and_the_next_is_read(read: Read, file: bytes) -> None:
    reading = read(b"11:5:hello,0:~}" + file, "mitmproxy")
    assert len(reading.trace) == 3
    assert ": flow 1: " in list(reading.skipped.warnings())[1]


@pytest.mark.parametrize("content", [b"", b"hello", b"5:ab", b"999999999999:x", b"99999999999999:x", b":", b"0:,"])
def test_what_is_no_flow_file_is_refused_in_one_line(error_of: ErrorOf, content: bytes) -> None:
    assert error_of(content, "mitmproxy").startswith("nothing usable, read as mitmproxy (flow file of mitmproxy)")
