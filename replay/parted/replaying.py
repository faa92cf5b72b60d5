"""The replay of a trace in parts: each part is read and replayed by one worker, and counts are summed."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from bestbefore.addon.admin.units import utc
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.kernels.rule import shares_groups
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import read_part
from bestbefore.replay.report.facts import condition_facts
from bestbefore.replay.report.measure import REQUESTS, Measure
from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.engines import Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.runs import Run, condition_names, history_name
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Row, Rows
from bestbefore.replay.traces.columns.columns import Requests, Updates

MakeRuns = Callable[[Updates, Requests], Sequence[Run]]
"""Makes the replays of a part, one for each kind of history."""
PartWork = tuple[int, Sequence[Sequence[Policy]]]
"""The number of a part, and for each replay the policies."""

PIECES_OF_A_THREAD = 4
"""A part with more than this fraction of a thread's share of the work is read by several, each for some policies."""


@dataclass(frozen=True, slots=True)
class PartReplay:
    """The function that a worker evaluates for a part."""

    folder: Path
    """The folder of the trace, the same on all machines."""
    trace: PartedTrace
    make: MakeRuns

    def __call__(self, work: PartWork) -> list[list[Rows]]:
        """Return the counts under the policies of each replay.

        Raises TraceError, and ValueError for a policy that the engine cannot replay.
        """
        number, wanted = work
        found = []
        for run, policies in zip(self.make(*read_part(self.trace, self.folder, number)), wanted, strict=True):
            for policy in policies:
                if (why := run.obstacle(policy)) is not None:
                    raise ValueError(f"{policy.name}: {why}: replay the parts with --through plain")
            if policies:
                run.prepare(policies)
            found.append([run.rows(policy) for policy in policies])
        return found


def obstacle(trace: PartedTrace, grouping: Grouping, policy: Policy) -> str | None:
    """Return the reason why parts cannot be replayed separately under the policy; None if they can."""
    if not shares_groups(policy) or trace.by == grouping.value:
        return None
    if grouping is Grouping.ALL:
        return f"{policy.name} reads the whole trace as one group, which parts do not hold: give another --group"
    return (
        f"{policy.name} reads groups by {grouping.value}, and this trace is divided by {trace.by}: "
        f"divide it by {grouping.value} (bestbefore convert --parts N --by {grouping.value})"
    )


@dataclass(frozen=True, slots=True)
class PartedRun:
    """A replay of a trace in parts, with what `RequestRun` says of one."""

    trace: PartedTrace
    cache: Cache
    grouping: Grouping
    warm: Warm | None
    tells_times: bool
    through: Through
    origin_s: float | None
    test_start_s: float | None
    breakdowns: Sequence[Breakdown] = ()
    """The kinds of parts that are reported, without the objects of each."""
    labels: str = ""
    """A digest of the file of objects."""
    measure: Measure = field(default=REQUESTS)

    @property
    def history(self) -> str:
        """The kind of histories: `complete`, `observed` or `changed`."""
        return history_name(self.warm, tells_times=self.tells_times)

    def obstacle(self, policy: Policy) -> str | None:
        """Return the reason why parts cannot be replayed separately under the policy; None if they can."""
        return obstacle(self.trace, self.grouping, policy)

    def conditions(self, policy: Policy) -> Mapping[str, str | None]:  # noqa: ARG002
        """Return the conditions of a replay, by their names in reports."""
        return {
            "cache": self.cache.value, **condition_names(self.history, self.warm), "through": self.through.value
        }

    def facts(self) -> Mapping[str, str]:
        """Return a description of the trace and the replay, by name."""
        span = f"{utc(self.trace.first_s)} to {utc(self.trace.last_s)}"
        return {
            "requests": f"{self.trace.requests:,}",
            "updates": f"{self.trace.updates:,}",
            "parts": f"{len(self.trace.parts):,}, by {self.trace.by}, from {span}",
            **condition_facts(
                self.cache, self.grouping, is_complete=self.warm is None, tells_times=self.tells_times
            ),
        }

    def part_identity(self, part: int) -> str:
        """Return a digest that identifies the replay of a part; see `identity`."""
        keys = [breakdown.key for breakdown in self.breakdowns]
        way = [self.cache, self.grouping, self.warm, self.tells_times, self.through, self.origin_s, self.test_start_s]
        known = [way, self.trace.first_s, self.trace.parts[part].digest, keys, self.labels, version("bestbefore")]
        return blake2b(json.dumps(known).encode(), digest_size=16).hexdigest()


class PartedSweep:
    """The counts of several runs under the same policies, collected part by part."""

    def __init__(
        self, runs: Sequence[PartedRun], policies: Sequence[Policy], finished: Sequence[FinishedPoints | None]
    ) -> None:
        """`finished` has, for each run, the file of counts finished before, if there is one."""
        self._runs, self._policies, self._finished = runs, policies, finished
        self._rows: list[list[list[Rows]]] = [[[] for _ in policies] for _ in runs]
        self._asked: list[list[list[int]]] = []
        """For each part with work and each run, the places of the policies."""
        self.work: list[PartWork] = []
        """What is left to do, the largest part first, so that no worker is left with it when the others are done."""
        parts = runs[0].trace.parts
        for part in sorted(range(len(parts)), key=lambda part: -parts[part].request_rows):
            if parts[part].request_rows:
                self._plan(part)

    def _plan(self, part: int) -> None:
        asked: list[list[int]] = []
        for run in range(len(self._runs)):
            known = self._known(run, part)
            found = [None if known is None else known.get(policy) for policy in self._policies]
            for place, rows in enumerate(found):
                if rows is not None:
                    self._rows[run][place].append(rows)
            asked.append([place for place, rows in enumerate(found) if rows is None])
        if any(asked):
            self._asked.append(asked)
            self.work.append((part, [[self._policies[place] for place in places] for places in asked]))

    def divide(self, threads: int) -> None:
        """Divide the work on large parts by policies, as so many threads do it; see `pieces`."""
        sizes = [self._size(*unit) for unit in zip(self.work, self._asked, strict=True)]
        divided: list[tuple[int, int, list[list[int]]]] = []
        for (part, _), asked, size in zip(self.work, self._asked, sizes, strict=True):
            n = pieces(size, sum(sizes), threads, max(map(len, asked)))
            divided += [(size // n, part, [places[k::n] for places in asked]) for k in range(n)]
        divided.sort(key=lambda unit: -unit[0])
        self._asked = [asked for _, _, asked in divided]
        self.work = [(part, [[self._policies[place] for place in own] for own in asked]) for _, part, asked in divided]

    def _size(self, work: PartWork, asked: Sequence[Sequence[int]]) -> int:
        return self._runs[0].trace.parts[work[0]].request_rows * sum(map(len, asked))

    @property
    def points(self) -> int:
        """The number of parts times policies that are left to do."""
        return sum(len(places) for asked in self._asked for places in asked)

    def take(self, values: Iterator[tuple[int, list[list[Rows]]]]) -> Iterator[None]:
        """Take the counts of parts as they come; yield once for each point."""
        for number, found in values:
            part = self.work[number][0]
            for run, places in enumerate(self._asked[number]):
                known = self._known(run, part)
                for place, rows in zip(places, found[run], strict=True):
                    if known is not None:
                        known.add(self._policies[place], rows)
                    self._rows[run][place].append(rows)
                    yield

    def results(self) -> list[list[Rows]]:
        """Return the sums over all parts, for each run and policy."""
        return [[total(rows) for rows in of_run] for of_run in self._rows]

    def _known(self, run: int, part: int) -> FinishedPoints | None:
        file = self._finished[run]
        return None if file is None else file.of(self._runs[run].part_identity(part))


def pieces(size: int, whole: int, threads: int, most: int) -> int:
    """The number of pieces, 1 to `most`, of a part of the whole work, so that no thread is left with it at the end."""
    return 1 if threads == 1 else max(1, min(most, math.ceil(PIECES_OF_A_THREAD * threads * size / max(whole, 1))))


def total(parts: Sequence[Rows]) -> Rows:
    """Sum the counts of parts, of the whole first, then of each breakdown in the order of names."""
    sums: dict[tuple[str, str], dict[str, int]] = {}
    for rows in parts:
        for row in rows:
            label = next(((key, value) for key, value in row.items() if isinstance(value, str)), ("", ""))
            own = sums.setdefault(label, {})
            for name, count in row.items():
                if isinstance(count, int):
                    own[name] = own.get(name, 0) + count
    keys = list(dict.fromkeys(key for key, _ in sums))
    labels = sorted(sums, key=lambda label: (keys.index(label[0]), label[1]))
    return [_row(key, value, sums[key, value]) for key, value in labels]


def _row(key: str, value: str, counts: Mapping[str, int]) -> Row:
    return {key: value, **counts} if key else counts
