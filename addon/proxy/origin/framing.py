"""The framing of messages on a connection to an origin (RFC 9112): written by us alone, and read strictly.

What a peer says of the length of its message decides where the next one begins, and connections are shared by all
clients. So an answer whose frame can be read in two ways is refused, and one that breaks a rule ends its connection.
"""

import re
from dataclasses import dataclass

from bestbefore.addon.rfc9111.fields.connection import connection_options
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

HEAD_LIMIT_BYTES = 64 * 1024
"""Of the head of a message."""
LINES_AT_MOST = 128
"""Fields of the head of a response."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: (.*))?")
"""A status that is not defined is passed on; none is below 100 (RFC 9110 15)."""
FIELD_LINE = re.compile(rb"(" + _TOKEN + rb")[ \t]*:[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_FOLDED = re.compile(rb"[ \t]+([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_METHOD = re.compile(_TOKEN)
_NOT_IN_A_TARGET = re.compile(rb"[\x00-\x20\x7f]")
_NOT_IN_A_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH_DIGITS = 18

FRAMING = frozenset(("content-length", "transfer-encoding"))
MADE_HERE = FRAMING | {"host", "connection", "expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"}
"""Fields of a request that are made for its connection, and never taken from the client."""
_BODILESS = frozenset((204, 304))
_ANNOUNCES_EMPTY_CONTENT = frozenset(("POST", "PUT", "PATCH"))
"""Methods whose requests are expected to have content: that there is none is said (RFC 9110 8.6)."""


class MalformedError(ValueError):
    """A message breaks the rules of its framing."""


@dataclass(frozen=True, slots=True)
class ContentFrame:
    """The way in which the end of the content of an answer is found."""

    length: int | None
    """Bytes; None: `chunked` says, or else the end of the connection."""
    chunked: bool
    sound: bool
    """Whether another request may be sent on the connection after this answer."""


def request_head(request: Request, *, absolute: bool, length: int | None, close: bool) -> bytes:
    """Return the head of a request as it is sent. Its framing is ours: none is taken from the request's own fields.

    `absolute`: the target in absolute form, for a parent proxy. `length`: bytes of content that follow; None: it
    follows in chunks. `close`: ask the origin to close the connection after its answer. Raises MalformedError for what
    the next server could read in another way.
    """
    method = request.method.encode("latin-1", "replace")
    target = (absolute_form(request.target) if absolute else request.target.path).encode("latin-1", "replace")
    authority = request.target.authority.encode("latin-1", "replace")
    if not _METHOD.fullmatch(method) or not authority or _NOT_IN_A_TARGET.search(target + authority):
        raise MalformedError("an invalid method or target")
    lines = [b"%s %s HTTP/1.1" % (method, target), b"Host: " + authority]
    for name, value in request.fields.raw:
        if name.lower() in MADE_HERE:
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
    """The target for a parent proxy; the server as a whole (OPTIONS *) has no path there (RFC 9112 3.2.4)."""
    return f"{target.scheme}://{target.authority}" if target.path == "*" else target.url


def response_head(raw: bytes) -> tuple[Head, int, bool]:
    """The head of a response, up to its empty line: head, minor version, and whether it broke no rule.

    Lines may end with LF alone (RFC 9112 2.2), a field may be folded (5.2) if it does not frame, and white space before
    a colon goes (5.1). Control characters in a reason are removed; elsewhere they are refused, as is all that is not a
    status line or a field. Raises MalformedError.
    """
    first, *rest = [line.removesuffix(b"\r") for line in raw.rstrip(b"\r\n").split(b"\n")]
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise MalformedError("the first line is not a status line")
    if len(rest) > LINES_AT_MOST:
        raise MalformedError(f"the head has more than {LINES_AT_MOST} lines")
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
    """Return the head with at most one length: the one that was read, however many lines gave it, and none in a 204."""
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

    Two lengths, a length beside a coding, another coding beside chunked and any in HTTP/1.0 are refused: what one
    reads as content, another reads as the next answer.
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
    if codings:  # what does not end in chunks ends with the connection (RFC 9112 6.3)
        return ContentFrame(None, chunked=chunked, sound=sound and chunked)
    return ContentFrame(length, chunked=False, sound=sound and length is not None)


def _length(lines: tuple[str, ...]) -> int:
    """The one value that all lines and members have."""
    members = {member for line in lines for member in list_members(line) or [""]}
    value = members.pop()
    if members or not (value.isascii() and value.isdigit()) or len(value) > _LENGTH_DIGITS:
        raise MalformedError("the answer's Content-Length is not one number")
    return int(value)
