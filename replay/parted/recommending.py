"""The replays that a recommendation asks of a trace in parts: each part is replayed by one worker, and summed."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import read_part
from bestbefore.replay.parted.replaying import pieces
from bestbefore.replay.parts import Parts
from bestbefore.replay.recommend import PartCounts, WholeReplays
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

MakeScenario = Callable[[Updates, Requests], Scenario]
"""Makes the scenario of a part."""
Question = Callable[["PartInMemory"], Any]
"""Asked of a part, with a picklable answer."""


class AskAll(Protocol):
    """Asks parts questions, each a part by its number with a question, in the order of the most work first."""

    @property
    def threads(self) -> int:
        """The number of threads that answer."""

    def __call__(self, questions: Sequence[tuple[int, Question]], what: str) -> list[Any]:
        """Return the answers, in the order of the questions; `what` describes the progress."""


@dataclass(frozen=True, slots=True)
class PartInMemory:
    """A part of a trace that was read, with its scenario."""

    requests: Requests
    scenario: Scenario

    def half(self, ends: tuple[float, float], *, is_first: bool) -> WholeReplays:
        """Return the replays of the first or the second part of the time, for the whole trace from start to end."""
        parts = Parts.within(self.scenario, self.requests, *ends)
        return WholeReplays(Engines(parts.first if is_first else parts.then), _one_by_one)


class PartReader:
    """The function that a worker evaluates: it reads a part, unless it was read last, and answers a question on it."""

    def __init__(self, trace: PartedTrace, folder: Path, make: MakeScenario) -> None:
        """`folder` is that of the trace, the same on all machines."""
        self._trace, self._folder, self._make = trace, folder, make
        self._last: tuple[int, PartInMemory] | None = None

    def __call__(self, asked: tuple[int, Question]) -> Any:
        """Answer. Raises TraceError."""
        number, question = asked
        if self._last is None or self._last[0] != number:
            self._last = None  # so that memory holds one part
            updates, requests = read_part(self._trace, self._folder, number)
            self._last = number, PartInMemory(requests, self._make(updates, requests))
        return question(self._last[1])


def replayed_ends(trace: PartedTrace, ask: AskAll) -> tuple[float, float]:
    """Return the times of the first and the last request to replay. Raises ValueError if there is none."""
    found = [ends for ends in ask([(number, _ends) for number in _largest_first(trace)], "times of parts") if ends]
    if not found:
        raise ValueError("no request to replay")
    start_s, end_s = min(start_s for start_s, _ in found), max(end_s for _, end_s in found)
    if not start_s < end_s:
        raise ValueError("all requests came at the same time: expected a trace in which time passes")
    return start_s, end_s


@dataclass(frozen=True, slots=True)
class PartedReplays:
    """The replays of one part of the time of a trace in parts; see `recommend.Replays`."""

    trace: PartedTrace
    ask: AskAll
    ends: tuple[float, float]
    is_first: bool
    """Whether it is the first part of the time."""

    def sizes(self, patterns: Mapping[str, str]) -> Mapping[str, Counts]:
        """Count under the oracle; see `Replays.sizes`."""
        found = summed(self._each(partial(_sizes, patterns), "sizes of domains"))
        return {domain: found[domain] for domain in sorted(found)}

    def obstacle(self, policy: Policy) -> str | None:
        """Ask each part; see `Replays.obstacle`."""
        return next((why for why in self._each(partial(_obstacle, policy), "groups of parts") if why), None)

    def count(self, apart: Set[str], patterns: Mapping[str, str], policies: Sequence[Policy]) -> list[PartCounts]:
        """Count under the policies; see `Replays.count`."""
        rows = self.trace.requests
        units = []
        for number in _largest_first(self.trace):
            own = self.trace.parts[number].request_rows
            n = pieces(own, rows, self.ask.threads, len(policies))
            units += [(own // n, number, range(k, len(policies), n)) for k in range(n)]
        units.sort(key=lambda unit: -unit[0])
        questions = [
            (number, self._of_half(partial(_count, frozenset(apart), patterns, [policies[place] for place in places])))
            for _, number, places in units
        ]
        counted: list[list[PartCounts]] = [[] for _ in policies]
        for (_, _, places), found in zip(units, self.ask(questions, "parts by policies"), strict=True):
            for place, counts in zip(places, found, strict=True):
                counted[place].append(counts)
        return [summed(counts) for counts in counted]

    def _each(self, question: Callable[[WholeReplays], Any], what: str) -> list[Any]:
        return self.ask([(number, self._of_half(question)) for number in _largest_first(self.trace)], what)

    def _of_half(self, question: Callable[[WholeReplays], Any]) -> Question:
        return partial(_asked, question, self.ends, self.is_first)


def summed(parts: Iterable[PartCounts]) -> dict[str, Counts]:
    """Sum the counts of parts by domain."""
    members: dict[str, list[Counts]] = {}
    for part in parts:
        for domain, counts in part.items():
            members.setdefault(domain, []).append(counts)
    return {domain: Counts.total(counts) for domain, counts in members.items()}


def _largest_first(trace: PartedTrace) -> list[int]:
    numbers = [number for number, part in enumerate(trace.parts) if part.request_rows]
    return sorted(numbers, key=lambda number: -trace.parts[number].request_rows)


def _one_by_one(count: Callable[[Policy], PartCounts], policies: Sequence[Policy]) -> list[PartCounts]:
    return [count(policy) for policy in policies]


def _asked(
    question: Callable[[WholeReplays], Any], ends: tuple[float, float], is_first: bool, part: PartInMemory
) -> Any:
    return question(part.half(ends, is_first=is_first))


def _ends(part: PartInMemory) -> tuple[float, float] | None:
    times_s = part.scenario.requests.times_s
    return (float(times_s[0]), float(times_s[-1])) if len(times_s) else None


def _sizes(patterns: Mapping[str, str], replays: WholeReplays) -> Mapping[str, Counts]:
    return replays.sizes(patterns) if len(replays.engines.scenario.requests) else {}


def _obstacle(policy: Policy, replays: WholeReplays) -> str | None:
    return replays.obstacle(policy)


def _count(
    apart: Set[str], patterns: Mapping[str, str], policies: Sequence[Policy], replays: WholeReplays
) -> list[PartCounts]:
    if not len(replays.engines.scenario.requests):
        return [{} for _ in policies]
    return replays.count(apart, patterns, policies)
