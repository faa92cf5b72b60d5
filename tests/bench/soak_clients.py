"""The clients of a soak: they ask at random moments, compare each content with what it must be, and explain errors."""

import asyncio
import random
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from soak_origin import SoakOrigin, content_of

PATIENCE_S = 30.0
TOO_LATE = "no answer in time"
MOST_AT_ONCE = 400
EXPLAINED_S = 5.0
"""How long before a request began the origin may have failed that it meets: a fetch may be shared."""
LOST_S = 3.0
"""What a kill of the store may cost: the last moments before it."""
RESTART_S = 15.0
"""After a kill of the store, for how long copies may be out of reach."""
WRITTEN_S = 1.0
"""After which both workers find a copy, if the proxy is not late."""
LATE_S = 20.0
"""The time before an error of which the slowest hit says how late the proxy was."""
WRITTEN_HITS = 3.0
"""After so many times that, both workers find a copy: it is written after its answer, in a few turns of the proxy."""
RECENT_S = 120.0
"""For how long a copy is expected in a store that is full."""
SHARES = {"page": 0.4, "short": 0.15, "flaky": 0.2, "never": 0.05, "new": 0.05, "private": 0.05, "large": 0.02,
          "unstored": 0.08}  # fmt: skip
NUMBERS = {"page": 2000, "short": 50, "flaky": 300, "never": 5000, "private": 20, "large": 20, "unstored": 5000}
USERS = 3
USES = 50
"""How many requests a connection is kept for, on average: else they would all lead to the worker that is not killed."""
LOGGED_S = 20.0
"""How long before a fault the lines of the log may be that are shown with it."""


@dataclass
class Events:
    """What the soak has done, in seconds of the monotonic clock."""

    worker_kills: list[float] = field(default_factory=list)
    store_kills: list[float] = field(default_factory=list)
    logged: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=50))
    """The last lines of the proxy's log on its store, and when they were read."""

    def killed_worker(self, from_s: float, until_s: float) -> bool:
        """Whether a worker was killed in this time."""
        return any(from_s - 0.25 <= one <= until_s for one in self.worker_kills)

    def may_have_lost(self, stored_s: float, now_s: float) -> bool:
        """Whether a copy may not have been written when it was killed, or the store is just starting again."""
        kills_s = (*self.worker_kills, *self.store_kills)
        restarts = any(one <= now_s <= one + RESTART_S for one in self.store_kills)
        return restarts or any(stored_s - 1.0 <= one <= stored_s + LOST_S for one in kills_s)


@dataclass
class Outcomes:
    """What became of the requests."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """What must not be: wrong content, and errors without a cause."""
    asked_s: list[float] = field(default_factory=list)
    """When each request began."""
    latencies: list[tuple[float, float, bool]] = field(default_factory=list)
    """When a request began, how long it took, and whether it was a hit; where the origin was at fault, none."""

    def late_s(self, now_s: float) -> float:
        """How long the slowest hit has taken of late."""
        found = 0.0
        for began_s, took_s, is_hit in reversed(self.latencies):
            if began_s + took_s < now_s - LATE_S:
                break
            if is_hit:
                found = max(found, took_s)
        return found


class Clients:
    """Ask the proxy on a port of loopback, `rate` times a second on average."""

    def __init__(self, port: int, origin: SoakOrigin, origin_url: str, events: Events, rate: float) -> None:
        self._port, self._origin, self._url, self._events, self._rate = port, origin, origin_url, events, rate
        self._random = random.Random(1)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._stored: dict[str, float] = {}
        """When a path was last received completely."""
        self._seen: dict[str, str] = {}
        """An entity tag received for it."""
        self._new = 0
        self._running: set[asyncio.Task[None]] = set()
        self.outcomes = Outcomes()

    async def run(self, seconds: float) -> None:
        """Ask for so long, and wait for the last answers."""
        due_s = time.monotonic()
        until_s = due_s + seconds
        while due_s < until_s:
            due_s += self._random.expovariate(self._rate)
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            if len(self._running) >= MOST_AT_ONCE:
                self.outcomes.counts["all", "not asked: too many at once"] += 1
                continue
            task = asyncio.create_task(self._one())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        await asyncio.gather(*self._running)

    async def _one(self) -> None:
        kind = self._random.choices(list(SHARES), list(SHARES.values()))[0]
        if kind == "new":
            self._new += 1
        number = self._new if kind == "new" else self._random.randrange(NUMBERS[kind])
        path, user = f"/{kind}?{number}", f"user{self._random.randrange(USERS)}"
        lines = [f"GET {self._url}{path} HTTP/1.1", f"Host: {self._url[7:]}"]
        if kind == "private":
            lines += [f"X-User: {user}", f"Cookie: user={user}"]
        draw = self._random.random()
        if kind in ("page", "short") and draw < 0.05:
            lines.append(f"Range: bytes={self._random.randrange(5000)}-{5000 + self._random.randrange(4000)}")
        elif kind in ("page", "short") and draw < 0.15 and path in self._seen:
            lines.append(f"If-None-Match: {self._seen[path]}")
        began_s = time.monotonic()
        outcome, is_hit, fields = "", False, dict[str, str]()
        try:
            async with asyncio.timeout(PATIENCE_S):
                status, fields, content = await self._exchange("\r\n".join(lines).encode() + b"\r\n\r\n")
            is_hit = "; hit" in fields.get("cache-status", "")
        except TimeoutError:
            status, outcome = 0, TOO_LATE
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            status, outcome = 0, "not HTTP" if isinstance(error, ValueError) else "broken off"
        ended_s = time.monotonic()
        if status in (200, 206, 304):
            outcome = self._checked(path, user, lines, status, fields, content)
            if kind not in ("private", "unstored") and status == 200:
                self._stored[path] = ended_s
        else:
            outcome = self._explained(path, outcome or str(status), began_s, ended_s, fields.get("cache-status", ""))
        self.outcomes.counts[kind, outcome] += 1
        self.outcomes.asked_s.append(began_s)
        if path not in self._origin.failed:
            self.outcomes.latencies.append((began_s, ended_s - began_s, is_hit))

    async def _exchange(self, message: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = None, None
        while self._idle and reader is None:
            reader, writer = self._idle.pop()
            if reader.at_eof() or writer.is_closing():
                writer.close()
                reader = None
        if reader is None or writer is None:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        try:
            writer.write(message)
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
            fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines}
            status, content = int(first.split(" ", 2)[1]), b""
            if "content-length" in fields and status != 304:
                content = await reader.readexactly(int(fields["content-length"]))
            elif "transfer-encoding" in fields:
                content = await _chunks(reader)
        except BaseException:
            writer.transport.abort()
            raise
        if fields.get("connection", "").lower() == "close" or self._random.random() < 1.0 / USES:
            writer.close()
        else:
            self._idle.append((reader, writer))
        return status, fields, content

    def _checked(
        self, path: str, user: str, lines: list[str], status: int, fields: dict[str, str], content: bytes
    ) -> str:
        tag = fields.get("etag", "")
        if status == 304:
            right = any(line == f"If-None-Match: {tag}" for line in lines)
        else:
            expected = content_of(path, user, tag.strip('"'))
            if status == 206:
                span = fields.get("content-range", "").removeprefix("bytes ").split("/")[0].split("-")
                expected = expected[int(span[0]) : int(span[1]) + 1]
            else:
                self._seen[path] = tag
            right = content == expected
        if right:
            return str(status)
        self.outcomes.faults.append(f"wrong content: {path} {status} {fields} {content[:60]!r} of {len(content)} bytes")
        return "WRONG CONTENT"

    def _explained(self, path: str, outcome: str, began_s: float, ended_s: float, status: str) -> str:
        """Name the cause of an error."""
        failed_s, before = self._origin.failed.get(path, (0.0, False))
        if failed_s >= began_s - EXPLAINED_S:
            stored_s = self._stored.get(path, 0.0)
            written_s = max(WRITTEN_S, WRITTEN_HITS * self.outcomes.late_s(ended_s))
            is_kept = began_s - RECENT_S < stored_s < began_s - written_s
            lost = not is_kept or self._events.may_have_lost(stored_s, ended_s)
            if not before:
                return f"{outcome}: the origin failed within the content"
            if lost:
                return f"{outcome}: the origin failed, and there was no copy"
            if outcome != "broken off" or not self._events.killed_worker(began_s, ended_s):
                what = f"{outcome} ({status}) though a copy came {began_s - stored_s:.1f} s before"
                self._fault(what, path, began_s, ended_s)
                return f"{outcome}: THOUGH THERE WAS A COPY"
        if outcome == "broken off" and self._events.killed_worker(began_s, ended_s):
            return "broken off: its worker was killed"
        if outcome == TOO_LATE and WRITTEN_HITS * self.outcomes.late_s(ended_s) > PATIENCE_S:
            return f"{outcome}: hits took long, too"
        self._fault(f"{outcome} without a cause", path, began_s, ended_s)
        return f"{outcome}: WITHOUT A CAUSE"

    def _fault(self, what: str, path: str, began_s: float, ended_s: float) -> None:
        """Note a fault, with what the origin has done and the proxy has logged before."""
        sent = ", ".join(f"{t_s - began_s:+.2f} {did}" for t_s, did in self._origin.sent.get(path, ()))
        lines = [(t_s - began_s, line) for t_s, line in self._events.logged if t_s > began_s - LOGGED_S]
        logged = "".join(f"; {after_s:+.2f} {line}" for after_s, line in lines)
        self.outcomes.faults.append(f"{path}: {what}, after {ended_s - began_s:.2f} s; the origin: {sent}{logged}")


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """Read content in chunks. Raises ValueError if they are malformed."""
    pieces = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        pieces.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk does not end")
    await reader.readuntil(b"\r\n")
    return b"".join(pieces)
