"""Judges what the origin got and what the clients got by what the clients sent and the origin answered."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from answers import SURPLUS, Answer
from answers_read import Got
from names import names_in
from recording import Record
from requests_read import Broken, Request

IDEMPOTENT = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"TRACE", b"PROPFIND", b"QUERY"))
HOP_BY_HOP = frozenset((b"proxy-connection", b"keep-alive", b"te", b"proxy-authorization", b"http2-settings"))
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))
OURS = frozenset((
    *(b"host", b"via", b"accept-encoding", b"connection", b"content-length", b"transfer-encoding", b"if-none-match"),
    *(b"if-modified-since", b"cache-control", b"cookie", b"want-update-history", b"a-im", b"accept", b"user-agent"),
))  # fmt: skip
"""What the proxy may add."""


@dataclass(slots=True)
class Expectation:
    """A request that the origin may get, once."""

    case: int
    request: Request
    tolerated: str = ""
    """What RFC 9112 lets a recipient repair in it."""
    partial: bool = False
    """Whether it must never be complete there."""
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str
    case: int
    detail: str
    evidence: bytes

    def __str__(self) -> str:
        return f"{self.kind}: case {self.case}: {self.detail}\n    {self.evidence[-3000:]!r}"


@dataclass(slots=True)
class Reading:
    """What a client's bytes say, strictly and with repairs."""

    requests: list[Request]
    broken: Broken | None
    repaired: list[Request] = field(default_factory=list)
    """Those that follow with repairs."""


class AnyOrigin(Protocol):
    """Ours that records, or a stock server."""

    answers_early: bool
    """Whether it answers when it has the head only."""
    answers: dict[tuple[int, int], Answer]
    records: set[Record]

    def settled(self, judge: "Judge") -> None:
        """All is quiet: the judge may be given what is known only now."""


class Judge:
    """Keeps the findings. `settle` is called when no client is under way."""

    def __init__(self, *, parent: bool = False, only_authority: str = "") -> None:
        """`parent`: the origin stands for a parent proxy. `only_authority`: whatever the client names, it is this."""
        self.parent, self.only_authority = parent, only_authority.encode()
        self.findings: list[Finding] = []
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.at_origin = 0
        self.found: Callable[[Finding], object] = lambda _finding: None
        self._expected: dict[bytes, list[Expectation]] = defaultdict(list)
        self._before: dict[bytes, list[Expectation]] = {}
        """Those of the round before: on a busy machine a request may come when its client is long gone."""
        self._refused: dict[tuple[int, int], str] = {}
        """Why requests with these names in their targets must be refused."""
        self._sent: dict[int, bytes] = {}
        self._reasons: dict[int, str] = {}
        """Why what a case sent last is no request."""

    def find(self, kind: str, case: int, detail: str, evidence: bytes = b"") -> None:
        self.kinds[kind] += 1
        if self.kinds[kind] <= 20:
            self.findings.append(Finding(kind, case, detail, evidence or self._sent.get(case, b"")))
            self.found(self.findings[-1])

    # What is to come.

    def expect(self, case: int, sent: bytes, reading: Reading) -> None:
        """A client is about to send this."""
        self._sent[case] = sent
        if reading.broken is not None:
            self._reasons[case] = reading.broken.reason
        for request in reading.requests:
            if request.refuse:
                self._refused.update(((c, n), request.refuse) for kind, c, n in names_in(request.target) if kind == "u")
            self._expected[request.path].append(Expectation(case, request))
        reason = reading.broken.reason if reading.broken is not None else ""
        for request in reading.repaired:
            self._expected[request.path].append(Expectation(case, request, tolerated=reason))
        if reading.broken is not None and reading.broken.head is not None:
            head = reading.broken.head
            self._expected[head.path].append(Expectation(case, head, tolerated=reason, partial=True))

    def _wanted(self, path: bytes) -> list[Expectation]:
        return [*self._expected.get(path, ()), *self._before.get(path, ())]

    # What came at the origin.

    def at_the_origin(self, record: Record, request: Request, answer: Answer) -> None:
        """A complete request was read there."""
        self.at_origin += 1
        if self.parent and request.method == b"CONNECT" and not request.refuse and not request.framing:
            self.notes["tunnels that the parent was asked for"] += 1  # for a client's https target
            return
        if request.refuse or request.encoded or b"#" in request.target:
            self.find(f"malformed-at-origin:{request.refuse or 'target'}", 0, "", bytes(record.data))
        wanted = self._wanted(request.path)
        if not wanted:
            self._unexpected(record, request)
            return
        problems: list[str] = []
        for expectation in wanted:
            problems = self._differences(record, request, expectation)
            if not problems:
                break
        else:
            kind = problems[0].partition(": ")[0]
            evidence = bytes(record.data[-3000:]) + b"\n <- " + self._sent.get(wanted[-1].case, b"")
            self.find(kind, wanted[-1].case, "; ".join(problems), evidence)
            return
        expectation.seen += 1
        if expectation.tolerated:
            self.notes[f"repaired:{expectation.tolerated}"] += 1
        if expectation.seen > 1 and request.method not in IDEMPOTENT:
            self.find("repeated", expectation.case, request.method.decode(), bytes(record.data))
        self._fields(record, request, expectation)

    def _unexpected(self, record: Record, request: Request) -> None:
        named = sorted((case, number) for kind, case, number in names_in(request.path) if kind == "u")
        case = named[0][0] if named else 0
        if named and named[0] in self._refused:
            kind = f"not-refused:{self._refused[named[0]]}"
            self.find(
                kind, case, request.target.decode(), bytes(record.data[-3000:]) + b"\n <- " + self._sent.get(case, b"")
            )
            return
        start = f"{request.method.decode()} {request.target.decode()}"
        self.find(
            f"unmeant-request:{self._reasons.get(case, '')}",
            case,
            start,
            bytes(record.data) + b"\n <- " + self._sent.get(case, b""),
        )

    def _differences(self, record: Record, request: Request, expectation: Expectation) -> list[str]:
        wanted, out = expectation.request, list[str]()
        if wanted.refuse:
            return [f"not-refused:{wanted.refuse}"]
        if expectation.partial:
            out.append(f"broken-request-completed: {expectation.tolerated}")
        if request.method != wanted.method:
            out.append(f"method-changed: {wanted.method!r} -> {request.method!r}")
        if request.content != wanted.content:
            out.append(f"content-changed: {wanted.content[:200]!r} -> {request.content[:200]!r}")
        asked = self.only_authority or wanted.authority.lower()
        hosts = [host.lower() for host in request.values(b"host")]
        if [_shortest(host) for host in hosts] != [_shortest(asked)]:
            out.append(f"host-changed: {asked!r} -> {hosts!r}")
        port = asked.rpartition(b":")[2]
        if not self.parent and port.isdigit() and int(port) != record.port:
            out.append(f"wrong-origin: {asked!r} -> port {record.port}")
        if self.parent and _shortest(request.authority.lower()) != _shortest(asked):
            out.append(f"target-changed: {asked!r} -> {request.target!r}")
        named = _options(wanted)
        for name in (b"x-id", b"cookie", b"authorization"):
            before, now = ([] if name in named else wanted.values(name)), request.values(name)
            if b", ".join(before) != b", ".join(now) and b"; ".join(before) != b"; ".join(now):
                out.append(f"field-changed: {name.decode()} {before!r} -> {now!r}")
        return out

    def _fields(self, record: Record, request: Request, expectation: Expectation) -> None:
        """Of a request that is as it was meant: that nothing was added, and that what is between two hops is gone."""
        wanted = expectation.request
        known = {name for name, _ in wanted.fields}
        named = _options(wanted) - {b"close", b"keep-alive", b"upgrade", b""}
        upgrading = bool(request.values(b"upgrade")) and b"upgrade" in _options(wanted)
        for name, value in request.fields:
            if name not in known and name not in OURS:
                self.find("invented-field", expectation.case, f"{name!r}: {value!r}", bytes(record.data))
            if name in named - OURS or name in HOP_BY_HOP or (name == b"upgrade" and not upgrading):
                self.find("hop-by-hop-forwarded", expectation.case, f"{name.decode()}: {value!r}", bytes(record.data))
        if not request.content:
            for name in (b"expect", b"transfer-encoding"):
                if request.values(name) and not wanted.content and wanted.framing != name:
                    self.find("framing-without-content", expectation.case, name.decode(), bytes(record.data))
        for name, _ in request.trailers:
            if name in _FRAMING or name == b"host":
                self.find("framing-in-trailers", expectation.case, name.decode(), bytes(record.data))

    def logged(self, request: Request | None, status: bytes, line: bytes) -> None:
        """A stock server took something for a request. (Its log shows neither content nor connection.)"""
        self.at_origin += 1
        wanted = self._wanted(request.path) if request is not None else ()
        same = [e for e in wanted if request is not None and e.request.method == request.method]
        told = request.values(b"x-id")[0] if request is not None else b""
        named = [e for e in same if told in _as_logged(e.request)]
        # These servers answer as soon as they have the head, and log it, also where the client then broke off; and they
        # refuse methods and targets that are well-formed, without telling who asked.
        # Over HTTP/2 a length that is not that of the content shows when the head is out, and breaks the request off.
        if any(e.request.refuse in ("", "h2-content-length") for e in (same if status.startswith(b"400") else named)):
            return
        if request is None and status.endswith(b"HPE_INVALID_EOF_STATE"):
            self.notes["uploads broken off"] += 1
            return
        case = next((case for _, case, _ in sorted(names_in(line))), 0)
        kind = (
            "malformed" if request is None else "unmeant" if not same else "of another" if not named else "not refused"
        )
        why = next((e.request.refuse or e.tolerated for e in named), self._reasons.get(case, ""))
        self.find(f"logged:{kind}:{why}", case, repr(line), line + b"\n <- " + self._sent.get(case, b""))

    # What came at a client.

    def at_the_client(
        self, case: int, asked: Sequence[Request], got: Sequence[Got], received: bytes, recorder: "AnyOrigin",
        revisited: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        """A client is done: it asked this, and got that."""
        for kind, other, number in names_in(received):
            if other != case and not (kind == "u" and other in revisited):
                self.find("crossed", case, f"got {kind}{other}.{number}", received)
            elif kind == "u" and number >= SURPLUS and other != case:
                self.find("surplus-delivered", case, f"got {kind}{other}.{number}", received)
        for request, answer in zip(asked, got, strict=False):
            self.answered(case, request, answer, recorder, received)
        for answer in got[len(asked) :]:
            self.statuses[f"{answer.status} to what is no request"] += 1
            told = answer.value(b"x-answer")
            if told is not None and not (recorder.answers_early and told in self._broken_path(case)):
                self.find(f"answer-to-no-request:{self._reasons.get(case, '')}", case, str(answer.status), received)

    def _broken_path(self, case: int) -> bytes:
        """The path of the request that a case broke off."""
        broken = (e for of_path in self._expected.values() for e in of_path if e.case == case and e.partial)
        return next((e.request.path for e in broken), b"")

    def answered(self, case: int, request: Request, answer: Got, recorder: "AnyOrigin", received: bytes) -> None:
        """One request got this answer."""
        told = (answer.value(b"x-answer") or b"").partition(b" ")[0] or None  # a folded line may follow in it
        if answer.status < 200 and answer.status != 101:
            self.notes["broken off after an interim response"] += 1
            return
        self.statuses[f"{answer.status}{'' if told is not None else ' of its own'}"] += 1
        if told is None:
            if answer.status == 500:
                self.find("fault", case, f"500 to {request.method!r} {request.target!r}", self._sent.get(case, b""))
            if answer.status < 300 and request.method not in (b"OPTIONS", b"TRACE", b"CONNECT"):
                self.find("unnamed-answer", case, f"{answer.status} to {request.target!r}", received)
            return
        if told == b"-" and not names_in(request.path):
            return
        if told not in request.path:
            self.find("answer-of-another", case, f"{told!r} to {request.path!r}", received)
            return
        named = [(c, n) for kind, c, n in names_in(told) if kind == "u"]
        meant = recorder.answers.get(named[0]) if named else None
        if meant is None or meant.contents is None or not answer.complete or request.method == b"HEAD":
            return
        if answer.status == 200 and answer.content not in meant.contents:
            detail = f"{meant.mutation}: {meant.contents!r:.300} -> {answer.content[:200]!r}"
            self.find("answer-changed" if meant.contents else "cut-answer-completed", case, detail, received)

    def unanswered(self, case: int, request: Request, recorder: "AnyOrigin", detail: str, evidence: bytes) -> None:
        """A request was not answered in time. Where the origin's answer was mutated, it may still be waited for."""
        named = [(c, n) for kind, c, n in names_in(request.target) if kind == "u"]
        answer = recorder.answers.get(named[0]) if named else None
        if request.method.upper() == b"PURGE":
            self.notes["unanswered PURGE"] += 1  # answered when nothing waits to be written to the store
        elif answer is not None and answer.contents is None:
            self.notes[f"unanswered after {answer.mutation}"] += 1
        else:
            self.find("no-answer", case, detail, evidence)

    # When all is quiet.

    def settle(self, recorder: "AnyOrigin") -> None:
        """No client is under way: nothing may be left on a connection to the origin but what was broken off."""
        for record in list(recorder.records):
            if record.broken:
                self._rest_is_malformed(record)
            elif record.read_to < len(record.data):
                self._rest_is_partial(record)
            if record.ended or record.broken or record.read_to < len(record.data):
                recorder.records.discard(record)
        recorder.settled(self)
        recorder.answers.clear()

    def forget(self) -> None:
        """Drop what was expected in the round before this, which is over."""
        self._before = self._expected
        self._expected = defaultdict(list)
        cases = {expectation.case for of_path in self._before.values() for expectation in of_path}
        self._sent = {case: sent for case, sent in self._sent.items() if case in cases}
        self._reasons = {case: why for case, why in self._reasons.items() if case in cases}
        self._refused = {name: why for name, why in self._refused.items() if name[0] in cases}

    def _rest_is_malformed(self, record: Record) -> None:
        if record.rest().startswith(b"\x16\x03"):
            self.notes["TLS where none is spoken"] += 1  # for a client's https target
            return
        case = next((case for _, case, _ in sorted(names_in(record.rest()[:4000]))), 0)
        evidence = record.rest()[:3000] + b"\n <- " + self._sent.get(case, b"")
        self.find(f"malformed-at-origin:{record.broken}", case, "", evidence)

    def _rest_is_partial(self, record: Record) -> None:
        """It must be the beginning of a request whose client broke off."""
        from requests_read import read_request

        read = read_request(record.data, record.read_to)
        head = read.head if isinstance(read, Broken) else None
        if head is None:
            self.find("leftover-at-origin", 0, "no head", bytes(record.data))
            return
        for expectation in self._wanted(head.path):
            content = expectation.request.content
            if expectation.request.method == head.method and content.startswith(head.content):
                if not expectation.partial:
                    self.notes["request cut although it was whole"] += 1
                return
        case = next((case for _, case, _ in sorted(names_in(head.path))), 0)
        self.find(
            "leftover-at-origin",
            case,
            repr(head.content[:200]),
            bytes(record.data) + b"\n <- " + self._sent.get(case, b""),
        )


def _as_logged(request: Request) -> tuple[bytes, ...]:
    """How a server's log may show who asked."""
    values = [] if b"x-id" in _options(request) else request.values(b"x-id")
    return (b", ".join(values), *(values[:1] or (b"",)))


def _options(request: Request) -> set[bytes]:
    return {part.strip(b" \t").lower() for value in request.values(b"connection") for part in value.split(b",")}


def _shortest(authority: bytes) -> bytes:
    """In the shortest form: a name may end with a dot, a port have zeros in front, or be missing after its colon."""
    host, colon, port = authority.rpartition(b":")
    if colon and port.isdigit():
        authority = host.removesuffix(b".") + b":" + (port.lstrip(b"0") or b"0")
    return authority.removesuffix(b":80").removesuffix(b":").removesuffix(b".")
