"""Runs cases against a proxy, many at a time, in rounds after each of which all must be quiet, and counts."""

import asyncio
import ssl
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import mutations_h2
from client_h1 import Outcome, asked_for, connect, play, reading_of
from client_h2 import play_streams
from judge import AnyOrigin, Judge, Reading
from mutations_h1 import MUTATIONS, WITH_CONNECT
from requests_h1 import Mutation, Place, Script, script
from requests_h2 import read_stream, streams

ROUND = 600
"""Cases between two moments of quiet, as a rule."""
H2_SHARE = 4
"""Of HTTP/2 there are so many times fewer cases in a round: one has more requests."""
HOSTILE_ROUNDS = 3
"""In every so many rounds the origin's answers are mutated, and it is another origin: connections to one that once said
what it should not are used once only, so that on these nothing could be found any more."""
QUIET_S, QUIET_AFTER_SURPLUS_S = 0.03, 0.25


@dataclass(slots=True)
class Plan:
    """What is to be run."""

    way: str
    """plain, tunnel, h2, parent or reverse."""
    seed: int
    requests: int
    port: int
    clients: int = 48
    mutated_share: float = 0.15
    """Of a hostile origin's answers."""
    hostile_from: int | None = None
    """From which case on the origin is hostile, where it is always the same."""
    first_case: int = 1
    only: int | None = None
    """A single case, to see it again."""
    round_cases: int = ROUND


@dataclass(slots=True)
class Campaign:
    """One way through one proxy to one origin."""

    plan: Plan
    recorder: AnyOrigin
    judge: Judge
    place: Place
    hostile: Callable[[], Awaitable[Place]]
    """Makes a hostile origin of the one that there is, or another."""
    client_tls: ssl.SSLContext | None = None
    alive: Callable[[], bool] = lambda: True
    report: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    sent: int = 0
    stopped: bool = False
    """Whether it is to end after this round."""
    used: Counter[str] = field(default_factory=Counter)
    _since_forgotten: int = 0
    """Cases."""

    async def run(self) -> None:
        """All rounds."""
        size = self._size
        case, start, told = self.plan.first_case, time.monotonic(), 0.0
        while self.sent < self.plan.requests and not self.stopped and self.alive():
            cases = [self.plan.only] if self.plan.only is not None else list(range(case, case - case % size + size))
            await self._round(cases)
            case += len(cases)
            if self.plan.only is not None:
                break
            spent = time.monotonic() - start
            if spent - told > 10:
                told = spent
                self.report(self.progress(spent))
        if not self.alive():
            self.judge.find("proxy-died", case, "")
        self.report(self.progress(time.monotonic() - start))

    def progress(self, spent_s: float) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.judge.kinds.most_common()) or "none"
        return f"{self.plan.way}: {self.sent} requests, {self.sent / spent_s:.0f}/s; findings: {kinds}"

    async def _round(self, cases: Sequence[int]) -> None:
        sound, is_hostile = self.place, self._is_hostile(cases[0])
        if is_hostile:
            self.place = await self.hostile()
        waiting = list(reversed(cases))

        async def work() -> None:
            while waiting:
                await self._case(waiting.pop())

        await asyncio.gather(*(work() for _ in range(min(self.plan.clients, len(waiting)))))
        await asyncio.sleep(QUIET_AFTER_SURPLUS_S if is_hostile else QUIET_S)
        self.judge.settle(self.recorder)
        self._since_forgotten += len(cases)
        if self._since_forgotten >= self._share(ROUND) - 1:  # the first round begins with case 1
            self.judge.forget()
            self._since_forgotten = 0
        self.place = sound

    @property
    def _size(self) -> int:
        return self._share(self.plan.round_cases)

    def _share(self, cases: int) -> int:
        return cases // H2_SHARE if self.plan.way == "h2" else cases

    def _is_hostile(self, case: int) -> bool:
        if self.plan.hostile_from is not None:
            return case >= self.plan.hostile_from
        return case // self._size % HOSTILE_ROUNDS == HOSTILE_ROUNDS - 1

    def script(self, case: int) -> Script:
        """What a case sends."""
        mutations: Sequence[tuple[str, Mutation]] = WITH_CONNECT if self.plan.way == "plain" else MUTATIONS
        return script(self.plan.seed, case, self.place, mutations)

    async def _case(self, case: int) -> None:
        try:
            await (self._case_h2(case) if self.plan.way == "h2" else self._case_h1(case))
        except (OSError, ssl.SSLError) as error:
            self.judge.notes[f"no connection: {type(error).__name__}"] += 1

    async def _case_h2(self, case: int) -> None:
        made, used = streams(self.plan.seed, case, self.place, mutations_h2.MUTATIONS)
        requests = [read_stream(stream) for stream in made]
        sent = repr([(stream.fields, stream.data, stream.trailers) for stream in made]).encode()
        self.judge.expect(case, sent, Reading(requests, None))
        self.used.update(used)
        transport, connection = await connect(self.plan.port, self.place.authority, self.client_tls)
        came = await play_streams(made, transport, connection)
        received = bytes(came.received)
        self.sent += came.sent
        self.judge.at_the_client(case, (), (), received, self.recorder)
        if came.malformed:
            self.judge.find(f"malformed-answer:{came.malformed}", case, "", received)
        for position, (stream, request) in enumerate(zip(made[: came.sent], requests, strict=False)):
            number = 2 * position + 1
            got = came.got.get(number)
            if got is not None:
                self.judge.answered(case, request, got, self.recorder, received)
            if (got is None or not got.complete) and number not in came.reset and stream.ends and not stream.after:
                if came.closed:
                    self.judge.notes["closed before all was answered"] += 1
                else:
                    detail = repr((number, stream.fields, stream.data, stream.trailers))
                    self.judge.unanswered(case, request, self.recorder, detail, received)

    async def _case_h1(self, case: int) -> None:
        made = self.script(case)
        reading = reading_of(made.sent)
        self.judge.expect(case, made.sent, reading)
        self.sent += len(reading.requests) + (reading.broken is not None)
        self.used.update(made.mutations)
        transport, connection = await connect(self.plan.port, self.place.authority, self.client_tls)
        outcome = await play(made, reading, transport, connection)
        asked = asked_for(reading)
        self._check(made, outcome, reading)
        self.judge.at_the_client(case, asked, outcome.got, bytes(outcome.received), self.recorder, made.revisited)

    def _check(self, made: Script, outcome: Outcome, reading: Reading) -> None:
        received, asked = bytes(outcome.received), reading.requests
        complete = len(asked)
        if outcome.malformed and not (outcome.closed and len(outcome.got) >= complete):
            self.judge.find(f"malformed-answer:{outcome.malformed}", made.case, "", received)
        elif len(outcome.got) < complete:
            if outcome.closed:
                self.judge.notes["closed before all was answered"] += 1
            else:
                detail, evidence = f"{len(outcome.got)} of {complete}", made.sent + b" -> " + received
                self.judge.unanswered(made.case, asked[len(outcome.got)], self.recorder, detail, evidence)
        elif reading.broken is not None and len(outcome.got) == complete and not outcome.closed:
            self.judge.notes[f"not refused in time, not judged: {reading.broken.reason}"] += 1
