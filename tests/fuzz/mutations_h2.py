"""Mutations of HTTP/2 requests: downgrade attacks (H2.CL, H2.TE), injections, and frames out of place."""

import random
import struct
from collections.abc import Sequence

import frames
from names import name
from requests_h1 import Draft
from requests_h2 import Mutation, Stream, with_data

INJECTED = (
    b"\r\nX: y",
    b"\nX: y",
    b"\rX: y",
    b"\r\n\r\nGET /u1.1-0000 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\0",
    b"\x0b",
    b" ",
    b"\t",
    b"\x7f",
    b"\xff",
)
SPECIFIC = (
    *((b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"identity"), (b"connection", b"close")),
    *((b"connection", b"content-length"), (b"connection", b"transfer-encoding, x-id"), (b"connection", b"host")),
    *(
        (b"upgrade", b"h2c"),
        (b"keep-alive", b"1"),
        (b"proxy-connection", b"x"),
        (b"te", b"chunked"),
        (b"te", b"trailers, chunked"),
    ),
    *((b"http2-settings", b"AAMAAABk"), (b"expect", b"100-continue"), (b"trailer", b"content-length")),
)


def _inner(rng: random.Random, stream: Stream) -> bytes:
    return Draft(stream.case, stream.number, stream.place, "", "").inner(rng)


def length_without_data(rng: random.Random, stream: Stream) -> None:
    """H2.CL: a length, and the end with the head."""
    stream.put(b":method", rng.choice((b"GET", b"HEAD", b"POST", b"OPTIONS", b"DELETE")))
    stream.fields = [line for line in stream.fields if line[0] != b"content-length"]
    stream.fields.append((b"content-length", rng.choice((b"52", b"1", b"5000", b"99999999999999999999", b"0"))))
    stream.data, stream.end_with_head = [], True
    if rng.random() < 0.3:
        stream.data, stream.end_with_head = [b""], False


def length_and_data(rng: random.Random, stream: Stream) -> None:
    """H2.CL: a length that is not that of the data, which holds a request."""
    stream.put(b":method", rng.choice((b"GET", b"POST", b"HEAD", b"PUT")))
    data = _inner(rng, stream)
    told = rng.choice(
        (b"0", b"1", b"%d" % (len(data) - 1), b"%d" % (len(data) + 1), b"%d" % (len(data) + 50), b"%d" % len(data))
    )
    odd = rng.choice(
        (told, told, told, b"+" + told, told + b" ", b"0x1", b"", told + b", " + told, b"-1", b"\xb2", told + b"\x0b")
    )
    stream.fields = [line for line in stream.fields if line[0] != b"content-length"]
    stream.fields += [(b"content-length", odd)] * rng.choice((1, 1, 1, 2))
    stream.data, stream.end_with_head = [data], False


def coding(rng: random.Random, stream: Stream) -> None:
    """H2.TE: a coding that HTTP/2 has not."""
    value = rng.choice(
        (
            b"chunked",
            b"Chunked",
            b"xchunked",
            b"chunked\t",
            b" chunked",
            b"\x0bchunked",
            b"identity",
            b"chunked, chunked",
        )
    )
    label = rng.choice(
        (
            b"transfer-encoding",
            b"Transfer-Encoding",
            b"transfer-encoding ",
            b"transfer_encoding",
            b"transfer-encoding\x00",
        )
    )
    stream.fields.append((label, value))
    stream.data, stream.end_with_head = [b"0\r\n\r\n" + _inner(rng, stream)], False


def connection_specific(rng: random.Random, stream: Stream) -> None:
    stream.fields.append(rng.choice(SPECIFIC))
    if rng.random() < 0.5 and not stream.data:
        with_data(rng, stream, told=rng.random() < 0.5)


def injected_value(rng: random.Random, stream: Stream) -> None:
    at = rng.randrange(len(stream.fields))
    label, value = stream.fields[at]
    cut = rng.randrange(len(value) + 1)
    stream.fields[at] = (label, value[:cut] + rng.choice(INJECTED) + value[cut:])


def injected_name(rng: random.Random, stream: Stream) -> None:
    label = rng.choice(
        (
            b"x: y\r\nz",
            b"x\r\ny",
            b"x:y",
            b"x y",
            b"X-Upper",
            b"",
            b":",
            b": x",
            b"x\x00",
            b"x\xff",
            b"x\t",
            b"(x)",
            b":x",
            b"x_y",
        )
    )
    stream.fields.append((label, rng.choice((b"z", b"", b"chunked"))))


def pseudo(rng: random.Random, stream: Stream) -> None:
    """Pseudo-header fields twice, missing, unknown, late or strange."""
    way = rng.randrange(6)
    at = rng.randrange(4)
    label, value = stream.fields[at]
    if way == 0:
        stream.fields.insert(rng.randrange(5), (label, rng.choice((value, b"x", b"/"))))
    elif way == 1:
        del stream.fields[at]
    elif way == 2:
        stream.fields.append(stream.fields.pop(at))
    elif way == 3:
        stream.fields.insert(
            rng.randrange(5), rng.choice(((b":status", b"200"), (b":protocol", b"websocket"), (b":x", b"y")))
        )
    elif way == 4:
        stream.put(label, b"")
    else:
        stream.put(b":scheme", rng.choice((b"http", b"HTTPS", b"ftp", b"https://x/", b"https ", b"x")))


def path(rng: random.Random, stream: Stream) -> None:
    own, authority = dict(stream.fields)[b":path"], stream.place.authority.encode()
    other = stream.place.other.encode()
    stream.put(b":path", rng.choice((
        *(own + b" HTTP/1.1\r\nX: y", own + b" x", own + b"#x", b" " + own, own[1:], b"*"),
        *(b"http://" + authority + own,),
        *(b"https://" + other + own, b"//" + other + own, own + b"\t", own + b"\x00", own + b"\xe9"),
        *(own + b"%0d%0a", b"/../" + own),
        *(b"\\" + own, own + b"&\"<>|^`", own + b" HTTP/1.1\r\nHost: " + other, b"?" + own, b"@" + other + own),
        *(b":80" + own,),
    )))  # fmt: skip


def method(rng: random.Random, stream: Stream) -> None:
    stream.put(b":method", rng.choice((
        *(b"get", b"Post", b"GET / HTTP/1.1\r\nX:", b"GET ", b" GET", b"G T", b"", b"CONNECT", b"TRACE", b"HEAD"),
        *(b"FOO", b"GET\x00"),
        *(b"GET\r\n", b"G:T", b"X" * 300, b"PRI", b"PURGE", b"\xe9", b"OPTIONS"),
    )))  # fmt: skip


def authority(rng: random.Random, stream: Stream) -> None:
    own, other = stream.place.authority.encode(), stream.place.other.encode()
    if rng.random() < 0.5:
        stream.put(
            b":authority",
            rng.choice(
                (other, b"", b"x@" + own, own + b"/x", own + b" ", own + b"\r\nX: y", own + b":80", own + b"#", b"*")
            ),
        )
    if rng.random() < 0.6:
        stream.fields += [(b"host", rng.choice((own, other, b"", own + b"\r\nX: y")))] * rng.choice((1, 1, 2))
    if rng.random() < 0.2:
        stream.fields = [line for line in stream.fields if line[0] != b":authority"]


def trailers(rng: random.Random, stream: Stream) -> None:
    if not stream.data:
        stream.put(b":method", b"POST")
        with_data(rng, stream, told=rng.random() < 0.5)
    stream.trailers = [rng.choice((
        *((b"x-t", b"1"), (b"content-length", b"5"), (b"transfer-encoding", b"chunked"), (b":path", b"/")),
        *((b"host", b"x"),),
        *((b"x", b"y\r\nZ: 1"), (b"X", b"y"), (b"connection", b"close"), (b"x-id", b"r1.1-0000"), (b"cookie", b"a")),
    ))]  # fmt: skip


def several_cookies(rng: random.Random, stream: Stream) -> None:
    own = name("r", stream.case, stream.number).encode()
    stream.fields += [(b"cookie", b"a=" + own), (b"cookie", b"b=1")]


def harmless_frames(rng: random.Random, stream: Stream) -> None:
    stream.split, stream.padding = rng.choice((0, 2, 5)), rng.choice((0, 1, 200))
    stream.before = rng.choice(
        (
            b"",
            frames.frame(frames.PING, 0, 0, bytes(8)),
            frames.frame(0x42, 255, 0, b"x"),
            frames.frame(frames.SETTINGS, 0, 0),
        )
    )


def hostile_frames(rng: random.Random, stream: Stream) -> None:
    """Frames that end the connection, or should."""
    stream.breaks = True
    way = rng.randrange(7)
    if way == 0:
        stream.after.append((frames.DATA, frames.END_STREAM, b"after the end"))
    elif way == 1:
        stream.after.append((frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, b"\x82"))
    elif way == 2:
        stream.before = frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, b"\x82")
    elif way == 3:
        stream.before = frames.frame(frames.DATA, 0, 0, b"x")
    elif way == 4:
        stream.before = frames.frame(frames.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0))
    elif way == 5:
        stream.before = frames.frame(frames.PUSH_PROMISE, frames.END_HEADERS, 1, struct.pack(">I", 2) + b"\x82")
    else:
        stream.before = frames.frame(frames.HEADERS, frames.END_HEADERS, 2, b"\xff" * 9)


def reset(rng: random.Random, stream: Stream) -> None:
    """Given up as soon as it is sent, whole or in part."""
    stream.after.append((frames.RST_STREAM, 0, struct.pack(">I", 8)))
    if rng.random() < 0.5 and not stream.data:
        stream.put(b":method", b"POST")
        stream.fields.append((b"content-length", b"60"))
        stream.data, stream.end_with_head, stream.ends = [b"beginning"], False, False


def odd_fields(rng: random.Random, stream: Stream) -> None:
    stream.fields.append(rng.choice((
        *((b"x", b"y" * 9000), (b"x", b"caf\xe9"), (b"range", b"bytes=0-3"), (b"via", b"1.1 x")),
        *((b"te", b"trailers"), (b"if-none-match", b"*")),
        *((b"expect", b"100-continue"), (b"max-forwards", b"0"), (b"accept-encoding", b"gzip")),
        *((b"x-forwarded-host", b"a"),),
    )))  # fmt: skip


_ALL: tuple[Mutation, ...] = (
    *(length_without_data, length_without_data, length_and_data, length_and_data, coding, coding, connection_specific),
    *(injected_value, injected_value, injected_name, pseudo, path, method, authority, trailers, several_cookies),
    *(harmless_frames, hostile_frames, reset, odd_fields),
)
MUTATIONS: Sequence[tuple[str, Mutation]] = tuple((mutation.__name__, mutation) for mutation in _ALL)
