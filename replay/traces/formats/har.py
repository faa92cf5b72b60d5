"""The reader of HTTP archives (HAR 1.2) saved by browsers and mitmproxy.

The file is read whole. All requests belong to one client, the recorded one.
"""

from datetime import UTC, datetime

import msgspec

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows
from bestbefore.replay.traces.inference.validators import validator_of
from bestbefore.replay.traces.opening import LONGEST_LINE_BYTES, OpenTrace
from bestbefore.replay.traces.skipped import Skipped, shortened

CLIENT = "har"
LARGEST_BYTES = 1 << 31


class _Field(msgspec.Struct):
    name: str
    value: str


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: list[_Field] = []


class _Content(msgspec.Struct):
    size: int | float | None = None


class _Response(msgspec.Struct):
    status: int
    headers: list[_Field] = []
    content: _Content = msgspec.field(default_factory=_Content)


class _Entry(msgspec.Struct):
    startedDateTime: str  # noqa: N815 (the format's own name)
    request: _Request
    response: _Response


class _Log(msgspec.Struct):
    entries: list[msgspec.Raw]


class _Archive(msgspec.Struct):
    log: _Log


def read_har(source: OpenTrace, skipped: Skipped) -> Accesses:
    """Read the GET requests for HTTP URLs. Other requests are left out and counted. Raises TraceError."""
    try:
        archive = msgspec.json.decode(source.whole(LARGEST_BYTES), type=_Archive)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TraceError(f"{source.path}: not an HTTP archive: {error}") from None
    rows = AccessRows()
    for number, raw in enumerate(archive.log.entries, 1):
        try:
            _add(rows, msgspec.json.decode(raw, type=_Entry), skipped)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            skipped.add(f"entry {number}", str(error))
    return rows.accesses()


def looks_like_har(head: bytes) -> bool:
    """Whether the content begins as a JSON object with a `log`."""
    start = head.lstrip()
    return start.startswith(b"{") and start[1:].lstrip().startswith(b'"log"')


def _add(rows: AccessRows, entry: _Entry, skipped: Skipped) -> None:
    """Add the row of an entry. Raises ValueError if it cannot be used."""
    url = entry.request.url.partition("#")[0]
    if entry.request.method != "GET" or not url.lower().startswith(("http:", "https:")):
        skipped.notes["requests left out, not a GET over HTTP"] += 1
        return
    if len(url) > LONGEST_LINE_BYTES:
        raise ValueError(f"URL {shortened(url)!r}: longer than {LONGEST_LINE_BYTES:,} characters")
    fields = {field.name.lower(): field.value for field in entry.response.headers}
    agents = [field.value for field in entry.request.headers if field.name.lower() == "user-agent"]
    size = entry.response.content.size
    rows.append(
        _unix_s(entry.startedDateTime),
        CLIENT,
        url,
        status=entry.response.status if 0 <= entry.response.status <= 999 else UNKNOWN,
        size_bytes=UNKNOWN if size is None or not 0 <= size < 2**53 else int(size),
        validator=validator_of(fields.get("last-modified"), fields.get("etag")),
        agent=agents[0] if agents else None,
    )


def _unix_s(text: str) -> float:
    """Return the Unix seconds of an ISO 8601 date and time, UTC if it names no zone. Raises ValueError."""
    try:
        at = datetime.fromisoformat(text)
        unix_s = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        unix_s = -1.0
    if unix_s < 0.0:
        raise ValueError(f"startedDateTime {shortened(text)!r}: expected an ISO 8601 date and time since 1970")
    return unix_s
