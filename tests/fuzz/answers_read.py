"""A strict reading of HTTP/1 responses, as a client must be able to do it with whatever the proxy sends."""

import re
from dataclasses import dataclass, field

from requests_read import Broken, Line, Request, read_request

_STATUS = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2}) ([\t -~\x80-\xff]*)\r\n")
"""Any code of three digits: those from 600 on are invalid, and a client takes them for a 5xx (RFC 9110 15)."""
BODILESS = (204, 304)


@dataclass(slots=True)
class Got:
    """One response, final or interim, as a client sees it."""

    status: int
    fields: list[Line]
    content: bytes = b""
    complete: bool = True
    end: int = 0
    closes: bool = False
    """Whether its content ends with the connection, or the connection ends with it."""
    interim: list[int] = field(default_factory=list)

    def value(self, name: bytes) -> bytes | None:
        return next((value for found, value in self.fields if found == name), None)


def read_answer(data: bytes | bytearray, start: int, method: bytes, *, closed: bool) -> Got | Broken:
    """The response that begins at `start`, to a request with this method."""
    status = _STATUS.match(data, start)
    if status is None:
        if data.startswith(b"HTTP/1.0 ", start):
            return Broken("version")
        return Broken("status-line", incomplete=b"\n" not in data[start:] and b"HTTP/1.1 ".startswith(data[start:][:9]))
    # A head with a length or chunks is read like that of a request.
    stand_in = b"POST / HTTP/1.1\r\nHost: x\r\n"
    code = int(status[1])
    bodiless = method == b"HEAD" or code in BODILESS or code < 200 or (method == b"CONNECT" and code < 300)
    head_end = data.find(b"\r\n\r\n", status.end() - 2)
    if head_end < 0:
        return Broken("head", incomplete=True)
    head = bytes(data[status.end() : head_end + 4]) if head_end >= status.end() else b"\r\n"
    read = read_request(stand_in + re.sub(rb"(?i)connection:[^\r]*\r\n", b"", head))
    if isinstance(read, Broken) and read.head is None:
        return Broken(read.reason)
    fields = (read if isinstance(read, Request) else read.head or _never()).fields[1:]
    connection = b",".join(value for value in re.findall(rb"(?im)^connection:[ \t]*([^\r]*)\r\n", head)).lower()
    got = Got(code, fields, end=head_end + 4, closes=b"close" in connection)
    if bodiless:
        return got
    framing = read.framing if isinstance(read, Request) else (read.head or _never()).framing
    if not framing and not any(name == b"content-length" for name, _ in fields):
        got.closes, got.complete, got.content, got.end = True, closed, bytes(data[head_end + 4 :]), len(data)
        return got
    full = read_request(stand_in + re.sub(rb"(?i)connection:[^\r]*\r\n", b"", head) + bytes(data[head_end + 4 :]))
    if isinstance(full, Broken):
        if not full.incomplete:
            return Broken(full.reason)
        got.complete, got.content, got.end = False, (full.head or _never()).content, len(data)
        return got
    got.content = full.content
    got.end = len(data) - (
        len(stand_in) + len(re.sub(rb"(?i)connection:[^\r]*\r\n", b"", head)) + len(data) - head_end - 4 - full.end
    )
    return got


def _never() -> Request:
    raise AssertionError("a reading with content has a head")


def read_answers(data: bytes, methods: list[bytes], *, closed: bool) -> tuple[list[Got], Broken | None, bytes]:
    """The final responses, what could not be read, and what is left over after the last request's response."""
    got: list[Got] = []
    at, interim = 0, list[int]()
    while at < len(data):
        if len(got) >= len(methods):
            return got, None, data[at:]
        read = read_answer(data, at, methods[len(got)], closed=closed)
        if isinstance(read, Broken):
            return got, read, data[at:]
        at = read.end
        if read.status < 200 and read.status != 101:
            interim.append(read.status)
            continue
        read.interim, interim = interim, []
        got.append(read)
        if read.status == 101 or not read.complete:
            return got, None, b"" if read.status == 101 else data[at:]
    return got, None, b""
