"""Generates what one HTTP/1 client sends on one connection: requests, some of them mutated, in writes with pauses."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from names import name

METHODS = ("GET",) * 9 + ("POST",) * 6 + ("HEAD",) * 2 + ("PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND")
PAUSES_S = (0.0, 0.001, 0.005, 0.02, 0.05)


@dataclass(frozen=True, slots=True)
class Place:
    """Where requests are for: the origin, and another name of this machine that is none of the client's business."""

    authority: str
    other: str
    absolute: bool
    """Whether targets are in absolute-form, as for a proxy; else in origin-form, as inside a tunnel."""


@dataclass(slots=True)
class Draft:
    """A request while it is made. Lines are as they are sent, without their ends."""

    case: int
    number: int
    place: Place
    method: str
    path: str
    version: str = "HTTP/1.1"
    target: str = ""
    host: str = ""
    lines: list[bytes] = field(default_factory=list)
    body: bytes = b""
    """As it is sent, with its chunks."""
    breaks: bool = False
    """Whether what follows on the connection is of doubtful meaning."""
    raw: bytes = b""
    """If set, this is sent instead."""

    def start_line(self) -> bytes:
        target = self.target or (f"http://{self.place.authority}" if self.place.absolute else "") + self.path
        return f"{self.method} {target} {self.version}".encode("latin-1")

    def head_lines(self) -> list[bytes]:
        host = [f"Host: {self.host or self.place.authority}".encode("latin-1")] if self.host != "none" else []
        return [self.start_line(), *host, *self.lines]

    def wire(self) -> bytes:
        return self.raw or b"\r\n".join((*self.head_lines(), b"", self.body))

    def content(self, rng: random.Random) -> bytes:
        """Content that bears the name of its request, sometimes in the shape of another request."""
        own = name("r", self.case, self.number).encode() + b":"
        shape = rng.random()
        if shape < 0.35:
            return own + self.inner(rng)
        return own + bytes(rng.choices(b"abc\r\n0;:\xff", k=rng.randrange(40)))

    def inner(self, rng: random.Random) -> bytes:
        """A request that must never be one."""
        number = self.number + 500
        path = f"/{name('u', self.case, number)}"
        target = path if rng.random() < 0.5 else f"http://{self.place.authority}{path}"
        rest = rng.choice((b"\r\n\r\n", b"\r\nX: ", b"\r\nContent-Length: 60\r\n\r\n", b""))
        host = f"Host: {self.place.authority}\r\nX-Id: {name('r', self.case, number)}".encode()
        return f"GET {target} HTTP/1.1\r\n".encode() + host + rest

    def frame(self, rng: random.Random, content: bytes, *, chunked: bool) -> None:
        if chunked:
            self.lines.append(b"Transfer-Encoding: chunked")
            self.body = chunks(rng, content)
        else:
            self.lines.append(b"Content-Length: %d" % len(content))
            self.body = content


def chunks(rng: random.Random, content: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    out, at = [], 0
    while at < len(content):
        size = rng.randrange(1, len(content) - at + 1)
        out.append(b"%x%s\r\n%s\r\n" % (size, extension, content[at : at + size]))
        at += size
    return b"".join(out) + b"0\r\n" + trailers + b"\r\n"


type Mutation = Callable[[random.Random, Draft], None]


@dataclass(frozen=True, slots=True)
class Script:
    """What one client does on one connection."""

    case: int
    writes: Sequence[bytes]
    pauses_s: Sequence[float]
    mutations: Sequence[str]
    revisited: frozenset[int] = frozenset()
    """Other cases whose URLs it asks for."""

    @property
    def sent(self) -> bytes:
        return b"".join(self.writes)


def url(case: int, number: int) -> str:
    """The path of a request; what it leads to is for all, or for whoever asks."""
    kind = "public" if is_public(case, number) else "own"
    return f"/{name('u', case, number)}?{kind}"


def is_public(case: int, number: int) -> bool:
    return (case + 5 * number) % 7 == 0


def plain_request(rng: random.Random, case: int, number: int, place: Place) -> Draft:
    """A request as a well-behaved client sends it."""
    draft = Draft(case, number, place, rng.choice(METHODS), url(case, number))
    draft.lines.append(f"X-Id: {name('r', case, number)}".encode())
    if rng.random() < 0.3:
        draft.lines.append(f"Cookie: c={name('r', case, number)}".encode())
    if rng.random() < 0.2:
        draft.lines.append(b"Accept-Encoding: gzip")
    if draft.method in ("POST", "PUT", "PATCH") or rng.random() < 0.05:
        draft.frame(rng, draft.content(rng), chunked=rng.random() < 0.4)
    return draft


def script(seed: int, case: int, place: Place, mutations: Sequence[tuple[str, Mutation]]) -> Script:
    """The script of a case, the same for the same seed, case and place."""
    rng = random.Random(f"{seed}:{case}")
    count = rng.choice((1, 2, 4, 6, 8, 12, 16))
    out: list[bytes] = []
    used: list[str] = []
    revisited: set[int] = set()
    for number in range(count):
        draft = plain_request(rng, case, number, place)
        if rng.random() < 0.3:
            label, mutate = rng.choice(mutations)
            used.append(label)
            mutate(rng, draft)
        elif case > 100 and rng.random() < 0.08:
            earlier = case - case % 7 - 7 * rng.randrange(1, 14)
            revisited.add(earlier)
            draft = Draft(case, number, place, "GET", url(earlier, 0))
            draft.lines.append(f"X-Id: {name('r', case, number)}".encode())
        out.append(draft.wire())
        if draft.breaks and rng.random() < 0.7:
            if rng.random() < 0.7:
                out.append(plain_request(rng, case, number + 100, place).wire())
            break
    writes, pauses_s = _written(rng, out)
    return Script(case, writes, pauses_s, used, frozenset(revisited))


def _written(rng: random.Random, requests: Sequence[bytes]) -> tuple[Sequence[bytes], Sequence[float]]:
    """All in one write, one by one, or cut anywhere, with pauses."""
    way = rng.random()
    if way < 0.45:
        return (b"".join(requests),), (0.0,)
    if way < 0.8:
        return tuple(requests), tuple(rng.choice(PAUSES_S[:3]) for _ in requests)
    sent = b"".join(requests)
    cuts = sorted(rng.sample(range(len(sent) + 1), min(len(sent), rng.randrange(1, 6))))
    pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True) if b > a]
    return tuple(pieces), tuple(rng.choice(PAUSES_S) for _ in pieces)
