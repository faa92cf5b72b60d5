"""Generates what the origin answers: mostly what it should, sometimes what no origin may.

Each answer bears the name of its URL and, unless it is for all, of who asked. A surplus bears a name of its own, which
no client must ever see.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from names import name
from requests_read import Request

LATE_S = (0.0, 0.005, 0.02, 0.05, 0.1)
SURPLUS = 700
"""What is added to a request's number to name a surplus."""


@dataclass(slots=True)
class Answer:
    """What is written, and when."""

    writes: list[tuple[float, bytes]]
    """Each after so many seconds."""
    closes: bool = False
    contents: tuple[bytes, ...] | None = None
    """What a client may take for the whole content; None if that is not to be told."""
    mutation: str = ""


@dataclass(slots=True)
class Making:
    """What a mutation has to work with."""

    rng: random.Random
    request: Request
    content: bytes
    lines: list[bytes]
    surplus: bytes

    @property
    def bodiless(self) -> bool:
        return self.request.method == b"HEAD"

    def body(self) -> bytes:
        return b"" if self.bodiless else self.content

    def head(self, status: bytes = b"HTTP/1.1 200 OK", *lines: bytes) -> bytes:
        return b"\r\n".join((status, *self.lines, *lines, b"", b""))

    def length(self, size: int | None = None) -> bytes:
        return b"Content-Length: %d" % (len(self.content) if size is None else size)

    def chunked(self) -> bytes:
        if self.bodiless:
            return b""
        at = self.rng.randrange(1, len(self.content))
        return (
            b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (self.content[:at], self.content[at:]))
            + b"0\r\n\r\n"
        )


def answer_for(seed: int, case: int, number: int, request: Request, mutated_share: float) -> Answer:
    """The answer to a request, always the same for the same names."""
    rng = random.Random(f"{seed}:{case}:{number}:answer")
    url, asker = name("u", case, number), next(iter(request.values(b"x-id")), b"none")
    public = request.path.endswith(b"?public")
    told = url.encode() + (b"" if public else b" " + asker[:30])
    lines = [b"X-Answer: " + url.encode()]
    if public:
        lines.append(b"Cache-Control: public, max-age=600")
    elif rng.random() < 0.5:
        lines.append(
            rng.choice(
                (b"Cache-Control: no-store", b"Cache-Control: private", b'ETag: "1"', b"Cache-Control: max-age=60")
            )
        )
    content = (told + b"\n") * rng.choice((1, 1, 2, 40))
    fake = name("u", case, number + SURPLUS).encode()
    making = Making(rng, request, content, lines, _surplus(rng, fake))
    if rng.random() >= mutated_share:
        return _good(making)
    mutate = rng.choice(_MUTATIONS)
    answer = mutate(making)
    answer.mutation = mutate.__name__.strip("_")
    return answer


def _surplus(rng: random.Random, fake: bytes) -> bytes:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Answer: %s\r\nCache-Control: max-age=600\r\n\r\n%s" % (
        len(fake),
        fake,
        fake,
    )
    return rng.choice(
        (
            whole,
            whole,
            whole,
            whole[: rng.randrange(1, len(whole))],
            fake,
            b"\r\n",
            b"\n",
            b"\0",
            b"HTTP/1.1 ",
            whole * 2,
        )
    )


def _good(making: Making) -> Answer:
    if making.rng.random() < 0.75:
        sent = making.head(b"HTTP/1.1 200 OK", making.length()) + making.body()
    else:
        sent = making.head(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked") + making.chunked()
    return Answer([(0.0, sent)], contents=(making.content,))


def _with_surplus(making: Making) -> Answer:
    answer = _good(making)
    late_s = making.rng.choice(LATE_S)
    if late_s == 0.0 and making.rng.random() < 0.5:
        return Answer([(0.0, answer.writes[0][1] + making.surplus)], contents=answer.contents)
    return Answer([*answer.writes, (late_s, making.surplus)], contents=answer.contents)


def _bodiless_with_content(making: Making) -> Answer:
    status = making.rng.choice((b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 Not Modified"))
    framing = making.rng.choice(((), (making.length(),), (b"Transfer-Encoding: chunked",), (b"Content-Length: 0",)))
    late = making.rng.choice((making.content, making.surplus, making.chunked(), b"0\r\n\r\n"))
    head, late_s = making.head(status, *framing), making.rng.choice(LATE_S)
    writes = [(0.0, head + late)] if late_s == 0.0 else [(0.0, head), (late_s, late)]
    return Answer(writes, contents=(b"",))


def _status_line(making: Making) -> Answer:
    line = making.rng.choice((
        *(b"HTTP/1.1 000 Zero", b"HTTP/1.1 099 x", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"HTTP/1.1 abc OK"),
        *(b"HTTP/1.1 200", b"HTTP/1.1"),
        *(b"HTTP/1.1 600 x", b"HTTP/1.1 999 x", b"HTTP/1.0 200 OK", b"HTTP/2.0 200 OK", b"HTTP/0.9 200 OK"),
        *(b"http/1.1 200 OK", b"ICY 200 OK"),
        *(b"HTTP/1.1  200 OK", b"HTTP/1.1 200 Non trouv\xe9", b"HTTP/1.1 404 Non trouv\xe9"),
        *(b"HTTP/1.1 200 a\x00b", b"HTTP/1.1 200 a\rb"),
        *(b" HTTP/1.1 200 OK", b"\r\nHTTP/1.1 200 OK", b"\nHTTP/1.1 200 OK", b"garbage", b"", b"HTTP/1.1 -20 OK"),
        *(b"HTTP/1.1 +200 OK",),
        *(b"HTTP/1.1\t200 OK", b"HTTP/1.1 2\xb20 OK", b"HTTP/1.1 200 " + b"x" * 9000, b"\x00HTTP/1.1 200 OK"),
        *(b"HTTP/1.9 200 OK",),
    ))  # fmt: skip
    return Answer([(0.0, making.head(line, making.length()) + making.body())], contents=(making.content, b""))


def _interim(making: Making) -> Answer:
    kinds = (b"HTTP/1.1 100 Continue", b"HTTP/1.1 102 x", b"HTTP/1.1 103 Early Hints", b"HTTP/1.1 199 x")
    count = making.rng.choice((1, 1, 2, 5, 30))
    lines = (
        b"\r\nLink: </x>; rel=preload",
        b"",
        b"\r\n" + making.length(),
        b"\r\nTransfer-Encoding: chunked",
        b"\r\nConnection: close",
    )
    before = b"".join(making.rng.choice(kinds) + making.rng.choice(lines) + b"\r\n\r\n" for _ in range(count))
    answer = _good(making)
    if making.rng.random() < 0.5:
        return Answer([(0.0, before), (0.005, answer.writes[0][1])], contents=answer.contents)
    return Answer([(0.0, before + answer.writes[0][1])], contents=answer.contents)


def _switching(making: Making) -> Answer:
    """A 101 for which nobody has asked."""
    lines = making.rng.choice(
        ((b"Upgrade: websocket", b"Connection: Upgrade"), (b"Upgrade: h2c", b"Connection: upgrade"), ())
    )
    return Answer([(0.0, making.head(b"HTTP/1.1 101 Switching Protocols", *lines) + making.surplus)])


def _lengths(making: Making) -> Answer:
    size = len(making.content)
    line = making.rng.choice((
        *(b"%d\r\nContent-Length: %d" % (size, size), b"%d\r\nContent-Length: %d" % (size, size + 9)),
        *(b"%d, %d" % (size, size),),
        *(b"%d, %d" % (size, size + 1), b"-1", b"+%d" % size, b"0x%x" % size, b"%d " % size, b"abc", b"", b"\xb2"),
        *(b"%d\x00" % size,),
        *(b"%d\x0b" % size, b"9" * 30, b"0%d" % size, b"%d;" % size, b"%d\r\n %d" % (size, size)),
    ))  # fmt: skip
    return Answer([(0.0, making.head(b"HTTP/1.1 200 OK", b"Content-Length: " + line) + making.body())])


def _short(making: Making) -> Answer:
    """Less than it tells, and the end."""
    if making.rng.random() < 0.5:
        sent = making.head(b"HTTP/1.1 200 OK", making.length(len(making.content) + 7)) + making.body()
    else:
        sent = making.head(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked") + making.chunked()[:-5]
    return Answer([(0.0, sent)], closes=True, contents=() if not making.bodiless else (b"",))


def _long(making: Making) -> Answer:
    """More than it tells."""
    size = making.rng.randrange(len(making.content))
    sent = making.head(b"HTTP/1.1 200 OK", making.length(size)) + making.content
    return Answer([(0.0, sent)], contents=(making.content[:size],))


def _both_framings(making: Making) -> Answer:
    size = making.rng.choice((3, 5, len(making.content), len(making.content) + 30))
    lines = [
        making.length(size),
        making.rng.choice(
            (b"Transfer-Encoding: chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:\x0bchunked")
        ),
    ]
    making.rng.shuffle(lines)
    return Answer([(0.0, making.head(b"HTTP/1.1 200 OK", *lines) + making.chunked())])


def _codings(making: Making) -> Answer:
    line = making.rng.choice((
        *(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked"),
        *(b"Transfer-Encoding: identity",),
        *(b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding : chunked", b"Transfer-Encoding: CHUNKED"),
        *(b"Transfer-Encoding:chunked,",),
        *(b"Transfer-Encoding:\r\n chunked", b'Transfer-Encoding: "chunked"', b"Transfer-Encoding: x"),
        *(b"Transfer-Encoding: ",),
    ))  # fmt: skip
    status = making.rng.choice((b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK"))
    return Answer([(0.0, making.head(status, line) + making.chunked())], closes=making.rng.random() < 0.5)


def _chunks(making: Making) -> Answer:
    bad = making.rng.choice((
        *(b"g\r\n", b"-1\r\n", b"5\r\nab\r\n", b"5\nabcde\n", b"5;\nx\r\nabcde\r\n", b"fffffffffffffffff\r\n"),
        *(b"\r\n", b"5 \r\nabcde\r\n"),
        *(b"3\r\nabcXX", b"5;a=\x00\r\nabcde\r\n", b"+5\r\nabcde\r\n", b"0x5\r\nabcde\r\n", b"5\r\nabcde"),
        *(b"0\r\nX: y\nZ\r\n\r\n", b"0\r\nbad\r\n\r\n"),
    ))  # fmt: skip
    body = b"" if making.bodiless else making.chunked()[:-5] + bad + b"0\r\n\r\n"
    return Answer(
        [(0.0, making.head(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked") + body)], closes=making.rng.random() < 0.5
    )


def _fields(making: Making) -> Answer:
    line = making.rng.choice((
        *(b"X: y\r\n z", b"X: a\x00b", b"X\x00: y", b"X : y", b" X: y", b"X", b": y", b"X: caf\xe9", b"X\xe9: y"),
        *(b"X: a\rb", b"X: a\nb", b"X y: z"),
        *(b"Connection: Content-Length", b"Connection: Transfer-Encoding", b"Connection: Cache-Control"),
        *(b"Connection: X-Other",),
        *(b"Connection: close", b"Connection: close, Content-Length"),
        *(b"Set-Cookie: a=" + making.content[:20].strip(), b"X: " + b"y" * 70000),
        *(b"Upgrade: h2c", b"Trailer: Content-Length", b"Proxy-Connection: keep-alive", b"Keep-Alive: timeout=0"),
        *(b"Alt-Svc: h2=\":1\"",),
    ))  # fmt: skip
    framing = making.rng.choice((making.length(), making.length(), b"Transfer-Encoding: chunked"))
    lines = [framing, line]
    making.rng.shuffle(lines)
    body = making.chunked() if framing.startswith(b"T") else making.body()
    return Answer([(0.0, making.head(b"HTTP/1.1 200 OK", *lines) + body)])


def _no_framing(making: Making) -> Answer:
    """Content until the end of the connection, which comes late."""
    sent = making.head(making.rng.choice((b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK"))) + making.body()
    return Answer([(0.0, sent), (making.rng.choice(LATE_S), b"")], closes=True, contents=(making.content, b""))


def _early_end(making: Making) -> Answer:
    sent = _good(making).writes[0][1]
    return Answer(
        [(0.0, sent[: making.rng.randrange(len(sent))])], closes=True, contents=() if not making.bodiless else (b"",)
    )


def _slowly(making: Making) -> Answer:
    answer = _good(making)
    sent = answer.writes[0][1]
    at = making.rng.randrange(1, len(sent))
    return Answer([(0.0, sent[:at]), (making.rng.choice(LATE_S[1:]), sent[at:])], contents=answer.contents)


def _ends_after(making: Making) -> Answer:
    """Whole, and then the end, which the connection's next user meets."""
    answer = _good(making)
    return Answer([*answer.writes, (making.rng.choice(LATE_S), b"")], closes=True, contents=answer.contents)


_MUTATIONS: tuple[Callable[[Making], Answer], ...] = (
    *(
        _with_surplus,
        _with_surplus,
        _with_surplus,
        _bodiless_with_content,
        _bodiless_with_content,
        _status_line,
        _interim,
    ),
    *(
        _switching,
        _lengths,
        _short,
        _long,
        _both_framings,
        _codings,
        _chunks,
        _fields,
        _fields,
        _no_framing,
        _early_end,
    ),
    *(_slowly, _ends_after),
)
