"""Mutations of HTTP/1 requests: the cases of the public smuggling collections, in our own words, and random bytes."""

import random
from collections.abc import Sequence

from names import name
from requests_h1 import Draft, Mutation, chunks

OBFUSCATED = (
    *(b"Transfer-Encoding : chunked", b" Transfer-Encoding: chunked", b"Transfer-Encoding:\tchunked"),
    *(b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding: \x00chunked", b"Transfer-Encoding: chunked\x00"),
    *(b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunkedx", b"Transfer-Encoding: CHUNKED"),
    *(b"transfer-encoding: Chunked", b"TRANSFER-ENCODING: cHuNkEd", b"Transfer-Encoding: chunked "),
    *(b"Transfer-Encoding: chunked\t", b"Transfer-Encoding: \tchunked", b"Transfer-Encoding:chunked"),
    *(b'Transfer-Encoding: "chunked"', b"Transfer-Encoding: 'chunked'", b"Transfer-Encoding: chunked,"),
    *(b"Transfer-Encoding: ,chunked", b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: identity, chunked"),
    *(b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked;q=1"),
    *(b"Transfer-Encoding: chunked;", b"Transfer-Encoding:\r\n chunked", b"Transfer-Encoding: \r\n\tchunked"),
    *(b"X: y\nTransfer-Encoding: chunked", b"X: y\rTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r"),
    *(b"Transfer-Encoding\x00: chunked", b"Transfer_Encoding: chunked", b"Transfer-Encoding\t: chunked"),
    *(
        b"Transfer-Encoding: cow",
        b"Transfer-Encoding: ",
        b"Transfer-Encoding: chu\xf1ked",
        b"Transfer-Encoding: \xffchunked",
    ),
    *(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: cow", b"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked"),
    *(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"X: y\r\n Transfer-Encoding: chunked"),
    *(b":Transfer-Encoding: chunked", b"Transfer-Encoding:: chunked", b"\xc2\xa0Transfer-Encoding: chunked"),
    *(b"Transfer-Encoding: identity", b"Transfer-Encoding: \xc5\xbfchunked", b"Transfer\xadEncoding: chunked"),
)
LENGTHS = (
    *(
        "+{}",
        "-{}",
        "0x{:x}",
        "{} ",
        " {}",
        "{},{}",
        "{}, {}",
        "{}, 0",
        "0, {}",
        "0{}",
        "000000000000000000000{}",
        "{}.0",
    ),
    *("{}e0", "{}_", "1_{}", "{}\x0b", "\x0b{}", "{}\x00", "\xb2{}", "'{}'", '"{}"', "{};", "{} {}", "", "\t{}", "{}a"),
    *("99999999999999999999", "18446744073709551616", "-1", "{}\r\nContent-Length: {}", "{}\r\nContent-Length: 0"),
    *("0\r\nContent-Length: {}", "{}\r\n ", "\r\n {}", "{}\nX: y", "{}\rX: y"),
)
SIZES = (
    *(
        "0x{:x}",
        "+{:x}",
        "-{:x}",
        " {:x}",
        "{:x} ",
        "\t{:x}",
        "{:x};",
        "{:x};a",
        "{:x};a=b",
        '{:x};a="b;c"',
        "{:x} ; a",
    ),
    *(
        "{:x};a\nb",
        "{:x};\r",
        "0{:x}",
        "00000000000000000{:x}",
        "{:x}\x00",
        "{:x}g",
        "{:X}",
        "{:x},",
        "{:x}\n",
        "{:x}\r",
    ),
    *(
        "ffffffffffffffff",
        "10000000000000000{:x}",
        "{:x};\x00",
        "{:x};a=\xff",
        "{:x}_",
        "",
        "{:x};\x0b",
        '{:x};a="b\nc"',
    ),
)
NAMED = (
    *("Content-Length", "content-length", "Transfer-Encoding", "Host", "Cookie", "Authorization", "X-Id", "Expect"),
    *("close, Content-Length", "keep-alive, Host", "Content-Length, Transfer-Encoding", "Connection", "Trailer", "Via"),
    *("Cache-Control", "Accept-Language", '"Content-Length"', "Content-Length ,", "\tHost", "Cookie, X-Id", "If-Match"),
    *("Upgrade, Content-Length", "TE, Transfer-Encoding", "X-Forwarded-For", "Proxy-Connection, Content-Length"),
)
FIELD_LINES = (
    *(
        b"X Y: z",
        b"X-Under_score: z",
        b"Content_Length: 3",
        b"X: y: z",
        b"X:",
        b": empty",
        b"X",
        b"X\x00: z",
        b"X: \x00",
    ),
    *(
        b"X: a\x0bb",
        b"X: a\x7fb",
        b"X: caf\xe9",
        b"X\xe9: y",
        b"X: y\r\n z",
        b"X: a\rb",
        b"X: a\nb",
        b"X: a\n\rb",
        b"\tX: y",
    ),
    *(
        b"X : y",
        b"X\t: y",
        b"(X): y",
        b"X: " + b"y" * 9000,
        b"Keep-Alive: 300",
        b"Proxy-Connection: keep-alive",
        b"TE: trailers",
    ),
    *(b"TE: chunked", b"Trailer: X-T", b"Via: 1.1 x", b"Range: bytes=0-3", b"X-Forwarded-Host: a", b"Max-Forwards: 0"),
    *(b"Proxy-Authorization: Basic eDp5", b"X-HTTP-Method-Override: POST", b"Content-Encoding: gzip", b"Date: x"),
    *(
        b"If-None-Match: *",
        b"Cache-Control: only-if-cached",
        b"Connection: close",
        b"Connection: keep-alive",
        b"Connection: ,",
    ),
)
BYTES = (
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\t",
    b" ",
    b"\x00",
    b"\x0b",
    b":",
    b",",
    b";",
    b"/",
    b"0",
    b"a",
    b"\x80",
    b"\xff",
    b"\x85",
)


def cl_te(rng: random.Random, draft: Draft) -> None:
    """A length over all, and a coding that ends it before a request."""
    content = b"0\r\n\r\n" + draft.inner(rng)
    lines = [b"Content-Length: %d" % len(content), rng.choice(OBFUSCATED)]
    _with_framing(rng, draft, lines, content)


def te_cl(rng: random.Random, draft: Draft) -> None:
    """A length that ends before a request, and a coding over all."""
    inner = draft.inner(rng)
    content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
    _with_framing(rng, draft, [b"Content-Length: %d" % (content.index(b"\n") + 1), rng.choice(OBFUSCATED)], content)


def te_te(rng: random.Random, draft: Draft) -> None:
    """Two codings, one of them obfuscated."""
    lines = [b"Transfer-Encoding: chunked", rng.choice(OBFUSCATED)]
    _with_framing(rng, draft, lines, chunks(rng, draft.content(rng)))


def te_only(rng: random.Random, draft: Draft) -> None:
    _with_framing(rng, draft, [rng.choice(OBFUSCATED)], chunks(rng, draft.content(rng)))


def cl_0(rng: random.Random, draft: Draft) -> None:
    """Content where one may not look for any."""
    draft.method = rng.choice(("GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "POST"))
    inner = draft.inner(rng)
    _with_framing(rng, draft, [b"Content-Length: %d" % len(inner)], inner)


def zero_cl(rng: random.Random, draft: Draft) -> None:
    """A length without content: the next request is it."""
    lines = [
        rng.choice((b"Content-Length: %d", b"Content-Length : %d", b"Content-Length: \t%d")) % rng.randrange(1, 90)
    ]
    _with_framing(rng, draft, lines, b"")


def length(rng: random.Random, draft: Draft) -> None:
    content = draft.content(rng)
    told = rng.choice(LENGTHS).format(len(content), len(content)) if rng.random() < 0.95 else "7" * 5000
    _with_framing(rng, draft, [f"Content-Length: {told}".encode("latin-1")], content)


def chunk_size(rng: random.Random, draft: Draft) -> None:
    content = draft.content(rng)
    size = rng.choice(SIZES).format(len(content)).encode("latin-1")
    end = rng.choice((b"\r\n",) * 5 + (b"\n", b"\r", b"", b"\r\n\r\n", b"XX", b"\r\nX"))
    last = rng.choice(
        (b"0\r\n\r\n",) * 5 + (b"0\n\n", b"0\r\n", b"00\r\n\r\n", b"0;x\r\n\r\n", b"0\r\n\n", b"", b"0 \r\n\r\n")
    )
    _with_framing(rng, draft, [b"Transfer-Encoding: chunked"], size + b"\r\n" + content + end + last)


def trailers(rng: random.Random, draft: Draft) -> None:
    lines = (
        b"X-T: 1",
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Host: x",
        b"X-Id: r1.1-0000",
        b"bad",
        b"X: y\n",
    )
    told = b"".join(rng.choice(lines) + b"\r\n" for _ in range(rng.randrange(1, 3)))
    body = chunks(rng, draft.content(rng), rng.choice((b"", b";a=b", b";a")), told)
    _with_framing(rng, draft, [b"Transfer-Encoding: chunked"], body)


def named(rng: random.Random, draft: Draft) -> None:
    """Connection names what is not its to name."""
    if rng.random() < 0.5 and not draft.body:
        draft.method = rng.choice(("POST", "GET"))
        draft.frame(rng, draft.inner(rng), chunked=rng.random() < 0.5)
    line = f"Connection: {rng.choice(NAMED)}".encode()
    draft.lines.insert(rng.randrange(len(draft.lines) + 1), line)
    draft.breaks = True


def field_line(rng: random.Random, draft: Draft) -> None:
    draft.lines.insert(rng.randrange(len(draft.lines) + 1), rng.choice(FIELD_LINES))
    draft.breaks = rng.random() < 0.5


def host(rng: random.Random, draft: Draft) -> None:
    """Host and target say different things, or more than one."""
    other, own = draft.place.other, draft.place.authority
    draft.host = rng.choice(
        (other, "none", f"{own}\r\nHost: {other}", f"{own}\r\nHost: {own}", f"{own}, {other}", "", " ")
    )
    draft.host = draft.host or rng.choice((f"{own}/x", f"x@{own}", f"{own}#", f"{own} ", f"{own}:", f"{own}\t", "a b"))
    if rng.random() < 0.3:
        draft.target = f"http://{rng.choice((own, other))}{draft.path}"
    draft.breaks = True


def target(rng: random.Random, draft: Draft) -> None:
    path, own = draft.path, draft.place.authority
    draft.target = rng.choice((
        *(path, f"http://{own}{path}", f"HTTP://{own}{path}", f"http://{own}{path}#x", f"http://{own}{path} x"),
        *(f"http://{own}{path}\tx", f"http://{own}//{path}", f"http://{own}/.{path}", f"http://{own}/..{path}"),
        *(f"http://{own}\\{path}", f"http://{own}{path}\x00", f"http://{own}{path}\xe9", f"http:///{own}{path}"),
        *(f"http:{path}",),
        *(f"https://{own}{path}", f"ftp://{own}{path}", f"http://x@{own}{path}", f"//{own}{path}", "*", own),
        *(f"http://{own}?{path}",),
        *(f"http://{own}{path}%0d%0aX:y", f"http://{own}{path}%00", f"http://{own}{path}\x7f"),
        *(f"http://{own}{path}|^`",),
        *(f"http://{own}{path}&a=\"<>'", f"http://{own} {path}", f"http://{own}:{path}", f" http://{own}{path}"),
    ))  # fmt: skip
    draft.breaks = True


def version(rng: random.Random, draft: Draft) -> None:
    draft.version = rng.choice((
        *("HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/1.9", "HTTP/2.0", "HTTP/0.9", "HTTP/11", "HTTP/1.10"),
        *("http/1.1", "HTTP/1.1 "),
        *("HTTP/1.", "HTTP/1,1", "", "HTTP", "HTTP /1.1", "HTTP/1.1\t", "HTTP/\xb1.1", "HTTP/1.1\x00", "\x0bHTTP/1.1"),
    ))  # fmt: skip
    if draft.version == "HTTP/1.0" and rng.random() < 0.6:
        draft.lines.append(rng.choice((b"Connection: keep-alive", b"Connection: Keep-Alive, X-Id")))
    else:
        draft.breaks = True


def http_0_9(rng: random.Random, draft: Draft) -> None:
    draft.raw = draft.start_line().rsplit(b" ", 1)[0] + rng.choice((b"\r\n", b"\n", b"\r\n\r\n", b" \r\n\r\n"))
    draft.breaks = True


def preface(rng: random.Random, draft: Draft) -> None:
    """HTTP/2 where none was agreed."""
    draft.raw = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.choice((b"\0\0\0\4\0\0\0\0\0", b"", draft.wire()))
    draft.breaks = True


def method(rng: random.Random, draft: Draft) -> None:
    draft.method = rng.choice((
        *("get", "Get", "pOST", "post", "HEAD", "head", "G\x00ET", "GE T", "", " GET", "G\tET", "FOO", "GET\x0b"),
        *("G:T", "G/T"),
        *("X" * 300, "TRACE", "PURGE", "M-SEARCH", "QUERY", "G\xe9T", "CONNECT", "OPTIONS", "!#$%&'*+-.^_`|~"),
    ))  # fmt: skip
    draft.breaks = not draft.method.isalpha() or draft.method == "CONNECT"


def expect(rng: random.Random, draft: Draft) -> None:
    draft.lines.append(
        rng.choice((b"Expect: 100-continue", b"Expect: 100-Continue", b"Expect: x", b"Expect: 100-continue, x"))
    )
    if rng.random() < 0.6 and not draft.body:
        draft.method = "POST"
        draft.frame(rng, draft.content(rng), chunked=rng.random() < 0.5)


def upgrade(rng: random.Random, draft: Draft) -> None:
    protocol = rng.choice((b"h2c", b"websocket", b"HTTP/2.0", b"TLS/1.2", b"x", b"h2c, websocket"))
    draft.lines += [
        b"Upgrade: " + protocol,
        b"Connection: " + rng.choice((b"Upgrade", b"upgrade, HTTP2-Settings", b"close")),
    ]
    if b"h2c" in protocol:
        draft.lines.append(b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    draft.breaks = True


def bare_ends(rng: random.Random, draft: Draft) -> None:
    """Lines that end with LF or CR alone."""
    raw, end = draft.wire(), rng.choice((b"\n", b"\r", b"\n\r", b"\r\r\n", b"\n\n"))
    head, _, rest = raw.partition(b"\r\n\r\n")
    head += b"\r\n\r\n"
    if rng.random() < 0.3:
        draft.raw = head.replace(b"\r\n", end) + rest
    else:
        ends = [i for i in range(len(head)) if head.startswith(b"\r\n", i)]
        at = rng.choice(ends)
        draft.raw = head[:at] + end + head[at + 2 :] + rest
    draft.breaks = True


def cut(rng: random.Random, draft: Draft) -> None:
    """Ends in the middle; what follows, if anything does, is in its place."""
    raw = draft.wire()
    draft.raw = raw[: rng.randrange(1, len(raw))]
    draft.breaks = True


def bytewise(rng: random.Random, draft: Draft) -> None:
    raw = bytearray(draft.wire())
    for _ in range(rng.randrange(1, 4)):
        at, size = rng.randrange(len(raw)), rng.choice((0, 0, 1, 1, 2, 8))
        raw[at : at + size] = rng.choice(BYTES) if rng.random() < 0.8 else raw[at - 9 : at]
    draft.raw = bytes(raw)
    draft.breaks = True


def connect(rng: random.Random, draft: Draft) -> None:
    """A tunnel in the middle of a connection, to one place with the name of another."""
    own, other = draft.place.authority, draft.place.other
    line = rng.choice(
        (f"CONNECT {own}", f"CONNECT http://{own}/", "CONNECT /", "CONNECT", f"CONNECT {own}{draft.path}")
    )
    body = rng.choice((b"", b"", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"))
    draft.raw = f"{line} HTTP/1.1\r\nHost: {rng.choice((own, other))}\r\n".encode() + body + b"\r\n" + draft.wire()
    draft.breaks = True


def line_before(rng: random.Random, draft: Draft) -> None:
    draft.raw = rng.choice((b"\r\n", b"\n", b"\r\n\r\n", b"\r", b" ", b"\0", b"\r\n ")) + draft.wire()
    draft.breaks = True


def same_name(rng: random.Random, draft: Draft) -> None:
    """A field of ours on another's name: the name of another case that does not exist."""
    draft.lines.append(f"X-Id: {name('r', draft.case, draft.number + 900)}".encode())


def _with_framing(rng: random.Random, draft: Draft, lines: list[bytes], body: bytes) -> None:
    draft.lines = [line for line in draft.lines if not line.startswith((b"Content-Length", b"Transfer-Encoding"))]
    if draft.method in ("GET", "HEAD") and rng.random() < 0.6:
        draft.method = "POST"
    if rng.random() < 0.5:
        lines.reverse()
    for line in lines:
        draft.lines.insert(rng.randrange(len(draft.lines) + 1), line)
    draft.body = body
    draft.breaks = True


_ALL: tuple[Mutation, ...] = (
    *(cl_te, cl_te, te_cl, te_cl, te_te, te_te, te_only, cl_0, cl_0, zero_cl, length, chunk_size, chunk_size, trailers),
    *(named, named, field_line, field_line, host, target, version, http_0_9, preface, method, expect, upgrade),
    *(bare_ends, cut, bytewise, bytewise, bytewise, line_before, same_name),
)
MUTATIONS: Sequence[tuple[str, Mutation]] = tuple((mutation.__name__, mutation) for mutation in _ALL)
WITH_CONNECT: Sequence[tuple[str, Mutation]] = (*MUTATIONS, ("connect", connect))
