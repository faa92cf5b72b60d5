import json
from calendar import timegm
from collections.abc import Callable
from typing import Any

import pytest

from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.reading import Reading

Read = Callable[..., Reading]
Rows = Callable[[Reading], list[tuple[float, str, str, int, int]]]
ErrorOf = Callable[..., str]

T = timegm((2026, 11, 20, 7, 4, 3)) + 0.25
DATE = "Fri, 20 Nov 2026 07:04:00 GMT"


def entry(url: str = "http://example.org/a", method: str = "GET", **changes: Any) -> dict[str, Any]:
    headers = [{"name": "Last-Modified", "value": DATE}, {"name": "ETag", "value": '"e"'}]
    return {
        "startedDateTime": "2026-11-20T07:04:03.250Z",
        "time": 12.5,
        "request": {"method": method, "url": url, "headers": [{"name": "User-Agent", "value": "Firefox"}]},
        "response": {"status": 200, "headers": headers, "content": {"size": 17, "mimeType": "text/html", "text": "x"}},
        **changes,
    }


def archive(*entries: object) -> bytes:
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": entries}}).encode()


def test_an_archive(read: Read, rows: Rows) -> None:
    later = entry(url="https://example.org/b#top", startedDateTime="2026-11-20T08:04:04.25+01:00")
    reading = read(archive(later, entry()), None)
    assert reading.format == "har"
    assert rows(reading) == [
        (T, "har", "http://example.org/a", 200, 17),
        (T + 1, "har", "https://example.org/b", 200, 17),
    ]
    assert reading.trace.validators == (DATE,)
    assert reading.trace.agent_ids.tolist() == [0, 0]


def test_a_byte_order_mark_and_missing_values(read: Read, rows: Rows) -> None:
    bare = entry(startedDateTime="2026-11-20T07:04:03.25", response={"status": 0, "content": {"size": -1}})
    bare["request"] = {"method": "GET", "url": "http://example.org/a"}
    reading = read(b"\xef\xbb\xbf" + archive(bare), None)
    assert rows(reading) == [(T, "har", "http://example.org/a", 0, UNKNOWN)]
    assert reading.trace.validator_ids.tolist() == reading.trace.agent_ids.tolist() == [UNKNOWN]


def test_what_is_no_get_over_http_is_left_out(read: Read) -> None:
    reading = read(archive(entry(), entry(method="POST"), entry(url="data:text/plain,x"), entry("wss://x/")), "har")
    assert len(reading.trace) == 1
    assert list(reading.skipped.notes.items()) == [("requests left out, not a GET over HTTP", 3)]


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        ({}, "Object missing required field `startedDateTime`"),
        (7, "Expected `object`, got `int`"),
        (entry(startedDateTime="yesterday"), "startedDateTime 'yesterday': expected an ISO 8601 date and time since "),
        (entry(startedDateTime="1969-12-31T23:59:59Z"), "startedDateTime '1969-12-31T23:59:59Z': expected"),
        (entry(response={"status": "200"}), "Expected `int`, got `str` - at `$.response.status`"),
        (entry(url="http://example.org/" + "x" * 40000), "longer than 32,768 characters"),
    ],
)
def test_a_malformed_entry_is_skipped_and_reported_with_its_number(read: Read, bad: object, wrong: str) -> None:
    reading = read(archive(entry(), bad, entry()), "har")
    assert len(reading.trace) == 2
    first = list(reading.skipped.warnings())[1]
    assert "trace: entry 2: " in first
    assert wrong in first


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "not an HTTP archive: Input data was truncated"),
        (archive(entry())[:-9], "not an HTTP archive: Input data was truncated"),
        (b"[1, 2]", "not an HTTP archive: Expected `object`, got `array`"),
        (b'{"log": {}}', "not an HTTP archive: Object missing required field `entries` - at `$.log`"),
        (archive(entry()).decode().encode("utf-16"), "not an HTTP archive: "),
        (archive(), "nothing usable, read as har (HTTP archive of a browser)"),
    ],
)
def test_what_is_no_archive_is_refused_in_one_line(error_of: ErrorOf, content: bytes, wrong: str) -> None:
    assert error_of(content, "har").startswith(wrong)
