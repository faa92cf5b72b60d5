"""A strict reading of HTTP/1 requests, written from RFC 9112 alone: it shares nothing with the proxy or a library.

The judge compares what the origin received with this reading of what the client sent, and the origin reads with it what
the proxy sent. `tolerant` takes what RFC 9112 lets a recipient repair (a bare LF as the end of a line, folded lines,
equal lengths told twice, Content-Length beside chunked); that reading is only ever compared, never required.
"""

import re
from dataclasses import dataclass, field

type Line = tuple[bytes, bytes]

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST = re.compile(rb"(" + _TOKEN + rb") ([!-~\x80-\xff]+) HTTP/1\.([0-9])")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):[ \t]*([\t -~\x80-\xff]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})([ \t]*;[\t -~\x80-\xff]*)?")
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?#]*)([^#]*)(?:#.*)?")

FRAMING = frozenset((b"content-length", b"transfer-encoding"))
UNNAMEABLE = FRAMING | {b"host", b"authorization", b"cookie"}
"""Fields that frame, address or authenticate: a request whose Connection names one is refused."""


@dataclass(slots=True)
class Request:
    """A request whose head is complete."""

    method: bytes
    target: bytes
    minor: int
    fields: list[Line]
    """Names in lower case."""
    content: bytes = b""
    trailers: list[Line] = field(default_factory=list)
    framing: bytes = b""
    """The name of the field that frames the content, if there is one."""
    authority: bytes = b""
    path: bytes = b""
    """The target in origin-form."""
    end: int = 0
    refuse: str = ""
    """Why it must be refused, although where it ends is clear."""
    encoded: bool = False
    """Whether its target held what is not ASCII. Clients send that; no origin may get it, as some take it for space."""

    def values(self, name: bytes) -> list[bytes]:
        return [value for found, value in self.fields if found == name]


@dataclass(slots=True)
class Broken:
    """What cannot be read as a request, or not yet."""

    reason: str
    head: Request | None = None
    """The request with the content read so far, if its head was complete."""
    incomplete: bool = False


class MalformedError(Exception):
    pass


class IncompleteError(Exception):
    pass


def read_request(data: bytes | bytearray, start: int = 0, *, tolerant: bool = False) -> Request | Broken:
    """The request that begins at `start`."""
    request: Request | None = None
    try:
        while data.startswith(b"\r\n", start) or (tolerant and data.startswith(b"\n", start)):
            start = data.index(b"\n", start) + 1  # RFC 9112 2.2: empty lines before a request are passed over
        line, at = _line(data, start, tolerant=tolerant)
        found = _REQUEST.fullmatch(line)
        if found is None:
            raise MalformedError("request-line")  # noqa: TRY301
        bad: list[str] = []
        fields, at = _fields(data, at, tolerant=tolerant, bad=bad)
        target, is_encoded = encoded(found[2]), not found[2].isascii()
        head = Request(found[1], target, int(found[3]), fields, refuse=next(iter(bad), ""), encoded=is_encoded)
        head.refuse = head.refuse or _address(head) or _named_by_connection(head)
        length = _framed(head, tolerant=tolerant)
        request = head
        if head.framing == b"transfer-encoding":
            at = _chunked(data, at, head, tolerant=tolerant)
        elif length:
            head.content = bytes(data[at : at + length])
            at += length
            if at > len(data):
                raise IncompleteError("content")  # noqa: TRY301
        head.end = at
    except MalformedError as error:
        return Broken(str(error), request)
    except IncompleteError as error:
        return Broken(str(error), request, incomplete=True)
    return head


def encoded(target: bytes) -> bytes:
    """A target with what is not ASCII percent-encoded, as RFC 3987 3.1 has it."""
    return re.sub(rb"[\x80-\xff]", lambda found: b"%%%02X" % found[0][0], target)


def read_all(data: bytes, *, tolerant: bool = False) -> tuple[list[Request], Broken | None]:
    """All requests of a connection, and what follows them if that is none."""
    requests: list[Request] = []
    at = 0
    while data[at:].strip(b"\r\n"):
        read = read_request(data, at, tolerant=tolerant)
        if isinstance(read, Broken):
            return requests, read
        requests.append(read)
        at = read.end
        if b"close" in _options(read.fields) or (read.minor == 0 and b"keep-alive" not in _options(read.fields)):
            return requests, None  # what follows is of no connection any more
        if read.framing == b"transfer-encoding" and read.values(b"content-length"):
            return requests, None  # RFC 9112 6.1: such a connection is closed after the response
    return requests, None


def _line(data: bytes | bytearray, start: int, *, tolerant: bool) -> tuple[bytes, int]:
    end = data.find(b"\n", start)
    line = bytes(data[start : end if end >= 0 else len(data)])
    if end >= 0 and line.endswith(b"\r"):
        line = line[:-1]
    elif end >= 0 and not tolerant:
        raise MalformedError("bare-lf")
    if end < 0:
        if b"\r" in line[:-1] and not tolerant:
            raise MalformedError("bare-cr")
        raise IncompleteError("head")
    if b"\r" in line:
        if not tolerant:
            raise MalformedError("bare-cr")
        line = line.replace(b"\r", b" ")  # RFC 9112 2.2
    return line, end + 1


def _fields(
    data: bytes | bytearray, at: int, *, tolerant: bool, bad: list[str] | None = None
) -> tuple[list[Line], int]:
    """`bad`: takes what is wrong with lines that can frame nothing; without it they are malformed."""
    fields: list[Line] = []
    while True:
        line, at = _line(data, at, tolerant=tolerant)
        if not line:
            return fields, at
        if line[0] in b" \t":
            if not tolerant or not fields:
                raise MalformedError("folded")
            name, value = fields[-1]
            line = name + b": " + value + b" " + line.strip(b" \t")
            del fields[-1]
        found = _FIELD.fullmatch(line)
        if found is not None:
            fields.append((found[1].lower(), found[2].rstrip(b" \t")))
        elif bad is None or re.search(rb"length|encoding|host|connection", line.lower()):
            raise MalformedError("field-line")
        else:
            bad.append("field-line")


def _address(head: Request) -> str:
    """Sets where it goes; why it must not."""
    hosts = head.values(b"host")
    problem = "host-lines" if len(hosts) > 1 or (not hosts and head.minor >= 1) else ""
    absolute = _ABSOLUTE.fullmatch(head.target)
    if head.method == b"CONNECT":
        head.authority = head.path = head.target
    elif absolute:
        head.authority = absolute[1]
        head.path = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
        if head.method == b"OPTIONS" and not absolute[2]:
            head.path = b"*"  # RFC 9112 3.2.4
    elif head.target.startswith(b"/") or (head.target == b"*" and head.method == b"OPTIONS"):
        head.authority, head.path = (hosts[0] if hosts else b""), head.target
    else:
        head.path = head.target
        return problem or "target"
    head.path = head.path.partition(b"#")[0]  # what a client should not send, and no origin may get
    return problem or ("" if _AUTHORITY.fullmatch(head.authority) else "authority")


def _options(fields: list[Line]) -> set[bytes]:
    return {
        option.strip(b" \t").lower() for name, value in fields if name == b"connection" for option in value.split(b",")
    }


def _named_by_connection(head: Request) -> str:
    named = sorted(_options(head.fields) & UNNAMEABLE)
    return f"connection-names-{named[0].decode()}" if named else ""


def _framed(head: Request, *, tolerant: bool) -> int:
    """Sets what frames the content; the length of the content if a length does."""
    codings, lengths = head.values(b"transfer-encoding"), head.values(b"content-length")
    if codings:
        if head.minor == 0:
            raise MalformedError("transfer-encoding-in-1.0")
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise MalformedError("transfer-encoding")
        if lengths and not tolerant:
            raise MalformedError("both-framings")
        head.framing = b"transfer-encoding"
        return 0
    if tolerant:
        lengths = sorted({part.strip(b" \t") for value in lengths for part in value.split(b",")})
    if len(lengths) > 1 or (lengths and not re.fullmatch(rb"[0-9]{1,15}", lengths[0])):
        raise MalformedError("content-length")
    if not lengths:
        return 0
    head.framing = b"content-length"
    return int(lengths[0])


def _chunked(data: bytes | bytearray, at: int, head: Request, *, tolerant: bool) -> int:
    chunks: list[bytes] = []
    try:
        while True:
            line, at = _line(data, at, tolerant=tolerant)
            found = _CHUNK.fullmatch(line)
            if found is None:
                raise MalformedError("chunk-size")  # noqa: TRY301
            size = int(found[1], 16)
            if size == 0:
                break
            chunks.append(bytes(data[at : at + size]))
            at += size
            if at > len(data):
                raise IncompleteError("content")
            end = bytes(data[at : at + 2])
            if end != b"\r\n":
                if b"\r\n".startswith(end):
                    raise IncompleteError("content")
                if not (tolerant and end.startswith(b"\n")):
                    raise MalformedError("chunk-end")  # noqa: TRY301
                at -= 1
            at += 2
        head.trailers, at = _fields(data, at, tolerant=tolerant)
    except MalformedError as error:
        raise MalformedError("trailer" if str(error) == "field-line" else str(error)) from None
    finally:
        head.content = b"".join(chunks)
    return at
