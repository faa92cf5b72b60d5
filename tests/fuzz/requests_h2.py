"""Generates what one HTTP/2 client sends on one connection, and reads it strictly by RFC 9113."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import frames
from hpack import Encoder
from hpack.struct import NeverIndexedHeaderTuple
from names import name
from requests_h1 import METHODS, Draft, Place, url
from requests_read import UNNAMEABLE, Line, Request, encoded

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_VALUE = re.compile(rb"(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?")
_PSEUDO = (b":method", b":scheme", b":authority", b":path")
CONNECTION_SPECIFIC = frozenset((b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"))


@dataclass(slots=True)
class Stream:
    """A request while it is made."""

    case: int
    number: int
    place: Place
    fields: list[Line]
    data: list[bytes] = field(default_factory=list)
    trailers: list[Line] | None = None
    end_with_head: bool = True
    ends: bool = True
    before: bytes = b""
    """Other frames, in front of it."""
    after: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Further frames of the stream: kind, flags and payload."""
    split: int = 0
    """Into how many frames its head is parted."""
    padding: int = 0
    breaks: bool = False
    refuse: str = ""
    """Why it must be refused, where its fields and data do not tell."""

    def put(self, name: bytes, value: bytes) -> None:
        """Set a field that there is once."""
        self.fields = [(n, value if n == name else v) for n, v in self.fields]

    def wire(self, number: int, encoder: Encoder) -> bytes:
        head = encoder.encode([NeverIndexedHeaderTuple(n, v) for n, v in self.fields], huffman=self.number % 2 == 0)
        flags = frames.END_STREAM if self.end_with_head else 0
        out = [self.before, *_head_frames(number, head, flags, self.split, self.padding)]
        last = len(self.data) - 1
        for position, data in enumerate(self.data):
            ends = position == last and self.ends and self.trailers is None
            out.append(frames.frame(frames.DATA, frames.END_STREAM if ends else 0, number, data))
        if self.trailers is not None:
            block = encoder.encode([NeverIndexedHeaderTuple(n, v) for n, v in self.trailers])
            out.append(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, number, block))
        out.extend(frames.frame(kind, flags, number, payload) for kind, flags, payload in self.after)
        return b"".join(out)


def _head_frames(number: int, head: bytes, flags: int, split: int, padding: int) -> list[bytes]:
    if split < 2:
        if padding:
            return [
                frames.frame(
                    frames.HEADERS,
                    flags | frames.END_HEADERS | frames.PADDED,
                    number,
                    bytes((padding,)) + head + bytes(padding),
                )
            ]
        return [frames.frame(frames.HEADERS, flags | frames.END_HEADERS, number, head)]
    size = max(1, len(head) // split)
    parts = [head[at : at + size] for at in range(0, len(head), size)]
    out = [frames.frame(frames.HEADERS, flags, number, parts[0])]
    for position, part in enumerate(parts[1:], 2):
        out.append(frames.frame(frames.CONTINUATION, frames.END_HEADERS if position == len(parts) else 0, number, part))
    return out


def read_stream(stream: Stream) -> Request:
    """The request, with the reason why it must be refused if it must be."""
    pseudo = [line for line in stream.fields if line[0].startswith(b":")]
    regular = [line for line in stream.fields if not line[0].startswith(b":")]
    values = dict(pseudo)
    request = Request(values.get(b":method", b""), b"", 1, regular, content=b"".join(stream.data))
    # As over HTTP/1: a fragment goes, and what is not ASCII is encoded.
    request.path = request.target = encoded(values.get(b":path", b"").partition(b"#")[0])
    request.authority = values.get(b":authority", next((v for n, v in regular if n == b"host"), b""))
    request.framing = b"content-length" if stream.data else b""
    request.refuse = stream.refuse or _why(stream, pseudo, regular, values)
    return request


def _why(stream: Stream, pseudo: list[Line], regular: list[Line], values: dict[bytes, bytes]) -> str:
    if len(values) != len(pseudo) or set(values) - set(_PSEUDO):
        return "h2-pseudo"
    if not {b":method", b":scheme", b":path"} <= set(values) or stream.fields[: len(pseudo)] != pseudo:
        return "h2-pseudo"
    if not re.fullmatch(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", values[b":method"]) or values[b":method"] == b"CONNECT":
        return "h2-method"
    is_for_all = values[b":path"] == b"*" and values[b":method"] == b"OPTIONS"
    if not (is_for_all or re.fullmatch(rb"/[!-~\x80-\xff]*", values[b":path"])) or values[b":scheme"] != b"https":
        return "h2-target"
    hosts = [value for name, value in regular if name == b"host"]
    if len(hosts) > 1 or (hosts and b":authority" in values and hosts[0] != values[b":authority"]):
        return "h2-host"
    if not re.fullmatch(rb"[A-Za-z0-9.\-]+(:[0-9]+)?", values.get(b":authority", (hosts or [b""])[0])):
        return "h2-authority"
    for found, value in (*regular, *(stream.trailers or ())):
        if not _NAME.fullmatch(found) or not _VALUE.fullmatch(value):
            return "h2-field"
        if found in CONNECTION_SPECIFIC or (found == b"te" and value != b"trailers"):
            return "h2-connection-specific"
    if any(name in UNNAMEABLE for name, _ in stream.trailers or ()):
        return ""  # may go
    lengths = [value for found, value in regular if found == b"content-length"]
    if lengths and (lengths[1:] or not lengths[0].isdigit() or int(lengths[0]) != sum(map(len, stream.data))):
        return "h2-content-length"
    return ""


type Mutation = Callable[[random.Random, Stream], None]


def plain_stream(rng: random.Random, case: int, number: int, place: Place) -> Stream:
    """A request as a well-behaved client sends it."""
    method = rng.choice(METHODS)
    path = url(case, number)
    stream = Stream(case, number, place, [
        (b":method", method.encode()), (b":scheme", b"https"), (b":authority", place.authority.encode()),
        (b":path", path.encode()), (b"x-id", name("r", case, number).encode()),
    ])  # fmt: skip
    if method in ("POST", "PUT", "PATCH") or rng.random() < 0.05:
        with_data(rng, stream, told=rng.random() < 0.5)
    return stream


def with_data(rng: random.Random, stream: Stream, *, told: bool) -> None:
    content = Draft(stream.case, stream.number, stream.place, "", "").content(rng)
    at = rng.randrange(len(content))
    stream.data, stream.end_with_head = [content[:at], content[at:]], False
    if told:
        stream.fields.append((b"content-length", b"%d" % len(content)))


def streams(
    seed: int, case: int, place: Place, mutations: Sequence[tuple[str, Mutation]]
) -> tuple[list[Stream], list[str]]:
    """The requests of a case, and the mutations in them."""
    rng = random.Random(f"{seed}:{case}:h2")
    out: list[Stream] = []
    used: list[str] = []
    for number in range(rng.choice((4, 8, 12, 16, 24))):
        stream = plain_stream(rng, case, number, place)
        if rng.random() < 0.15:
            label, mutate = rng.choice(mutations)
            used.append(label)
            mutate(rng, stream)
        out.append(stream)
        if stream.breaks and rng.random() < 0.5:
            break
    return out, used
