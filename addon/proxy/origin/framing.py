"""The framing of messages on a connection to an origin (RFC 9112): of requests, and strictly of responses.

The framing of a message decides where the next one begins, and clients share connections. So a response with ambiguous
framing is refused, and the connection of one that breaks a rule is closed.
"""

import re
from dataclasses import dataclass

from bestbefore.addon.rfc9111.fields.connection import connection_options
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

HEAD_LIMIT_BYTES = 64 * 1024
"""The largest head of a message."""
MAX_FIELDS = 128
"""The most field lines in the head of a response."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: (.*))?")
"""An undefined status is forwarded; none is below 100 (RFC 9110 15)."""
FIELD_LINE = re.compile(rb"(" + _TOKEN + rb")[ \t]*:[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_FOLDED = re.compile(rb"[ \t]+([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_METHOD = re.compile(_TOKEN)
_NOT_IN_A_TARGET = re.compile(rb"[\x00-\x20\x7f]")
_NOT_IN_A_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH_DIGITS = 18

FRAMING = frozenset(("content-length", "transfer-encoding"))
HOP_FIELDS = FRAMING | {"host", "connection", "expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"}
"""Fields of a request that the proxy generates for its connection, and never copies from the client."""
_BODILESS = frozenset((204, 304))
_ANNOUNCES_EMPTY_CONTENT = frozenset(("POST", "PUT", "PATCH"))
"""Methods whose requests have Content-Length: 0 if they have no content (RFC 9110 8.6)."""


class MalformedError(ValueError):
    """A message violates the rules of framing."""


@dataclass(frozen=True, slots=True)
class ContentFrame:
    """How the end of the content of a response is determined."""

    length: int | None
    """Bytes; None: by `chunked`, else by the end of the connection."""
    chunked: bool
    sound: bool
    """Whether the connection may be reused after this response."""


def request_head(request: Request, *, absolute: bool, length: int | None, close: bool) -> bytes:
    """Return the head of a request as it is sent, with framing that is not copied from the request's fields.

    `absolute`: the target is in absolute form, for a parent proxy. `length`: bytes of content; None: chunked. `close`:
    ask the origin to close the connection after its response. Raises MalformedError for an ambiguous head.
    """
    method = request.method.encode("latin-1", "replace")
    target = (absolute_form(request.target) if absolute else request.target.path).encode("latin-1", "replace")
    authority = request.target.authority.encode("latin-1", "replace")
    if not _METHOD.fullmatch(method) or not authority or _NOT_IN_A_TARGET.search(target + authority):
        raise MalformedError("an invalid method or target")
    lines = [b"%s %s HTTP/1.1" % (method, target), b"Host: " + authority]
    for name, value in request.fields.raw:
        if name.lower() in HOP_FIELDS:
            continue
        raw_name, raw_value = name.encode("latin-1", "replace"), value.encode("latin-1", "replace")
        if not _METHOD.fullmatch(raw_name) or _NOT_IN_A_VALUE.search(raw_value):
            raise MalformedError("an invalid field")
        lines.append(raw_name + b": " + raw_value)
    if length is None:
        lines.append(b"Transfer-Encoding: chunked")
    elif length or request.method in _ANNOUNCES_EMPTY_CONTENT:
        lines.append(b"Content-Length: %d" % length)
    if close:
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n"


def absolute_form(target: Target) -> str:
    """Return the target in absolute form, for a parent proxy; without a path for `OPTIONS *` (RFC 9112 3.2.4)."""
    return f"{target.scheme}://{target.authority}" if target.path == "*" else target.url


def response_head(raw: bytes) -> tuple[Head, int, bool]:
    """Parse the head of a response: return the head, its minor version, and whether it is without violations.

    Lines may end with a bare LF (RFC 9112 2.2), a field may be folded (5.2) if it is not a framing field, and white
    space before a colon is removed (5.1). Control characters in a reason are removed; elsewhere they are refused, as is
    any line that is not a status line or a field. Raises MalformedError.
    """
    first, *rest = [line.removesuffix(b"\r") for line in raw.rstrip(b"\r\n").split(b"\n")]
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise MalformedError("the first line is not a status line")
    if len(rest) > MAX_FIELDS:
        raise MalformedError(f"the head has more than {MAX_FIELDS} lines")
    fields: list[tuple[str, str]] = []
    sound = True
    for line in rest:
        folded = _FOLDED.fullmatch(line)
        if folded is not None and fields and fields[-1][0].lower() not in FRAMING:
            name, value = fields[-1]
            fields[-1] = name, f"{value} {folded[1].decode('latin-1')}".strip()
            sound = False
            continue
        field = FIELD_LINE.fullmatch(line)
        if field is None:
            raise MalformedError("a line of the head is not a field")
        fields.append((field[1].decode("ascii"), field[2].decode("latin-1")))
        sound = sound and line[len(field[1]) :].startswith(b":")
    reason = _CONTROL.sub(b"", status_line[3] or b"").decode("latin-1").strip()
    return Head(int(status_line[2]), Fields(fields), reason), int(status_line[1]), sound


def framed_head(head: Head) -> Head:
    """Return the head with at most one Content-Length line, and none in a 204."""
    lengths = head.fields.values("content-length")
    if not lengths or (len(lengths) == 1 and lengths[0].isdigit() and head.status != 204):
        return head
    fields = head.fields.without({"content-length"})
    if head.status != 204:
        fields = fields.added(("Content-Length", str(_length(lengths))))
    return Head(head.status, fields, head.reason)


def content_frame(method: str, head: Head, minor: int) -> ContentFrame:
    """Return where the content of a final response to a request with this method ends (RFC 9112 6.3).

    Raises MalformedError.

    Two lengths, a length with a transfer coding, a coding other than chunked, and any coding in HTTP/1.0 are refused:
    another parser could take content for the next response.
    """
    fields = head.fields
    codings, lengths = fields.values("transfer-encoding"), fields.values("content-length")
    if codings and lengths:
        raise MalformedError("the answer has a length and is chunked")
    if codings and (minor == 0 or len(codings) > 1):
        raise MalformedError("the answer has an unknown transfer coding")
    chunked = bool(codings) and codings[0].lower() == "chunked"
    if codings and not chunked and "chunked" in codings[0].lower():
        raise MalformedError("the answer has a transfer coding beside chunked")
    length = _length(lengths) if lengths else None
    options = connection_options(fields)
    one_length = len(lengths) <= 1 and all(line.isdigit() for line in lengths)
    sound = one_length and "close" not in options and (minor == 1 or "keep-alive" in options)
    if method == "HEAD" or head.status in _BODILESS:
        forbidden = head.status == 204 and (codings or length)
        return ContentFrame(0, chunked=False, sound=sound and not forbidden)
    if codings:  # a coding other than chunked is ended by the connection (RFC 9112 6.3)
        return ContentFrame(None, chunked=chunked, sound=sound and chunked)
    return ContentFrame(length, chunked=False, sound=sound and length is not None)


def _length(lines: tuple[str, ...]) -> int:
    """Return the value, which must be the same in all lines and members."""
    members = {member for line in lines for member in list_members(line) or [""]}
    value = members.pop()
    if members or not (value.isascii() and value.isdigit()) or len(value) > _LENGTH_DIGITS:
        raise MalformedError("the answer's Content-Length is not one number")
    return int(value)
