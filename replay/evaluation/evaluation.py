"""The replay of all policies in all cases, caches and histories, over several processes and resumable."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.evaluation.case import Case, Known
from bestbefore.replay.evaluation.compared import Compared, in_detail
from bestbefore.replay.evaluation.curves import Curve
from bestbefore.replay.evaluation.kinds import KIND, kinds_of
from bestbefore.replay.evaluation.offline_bound import OfflineBound
from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.fast_engine import COMPILED_FROM
from bestbefore.replay.simulate.runs import RequestRun
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Row, Rows
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.sweeps.progress import Bar, no_bar

ORACLE = parse_spec("oracle")
SETTLED_S = 2 * DAY_S
"""How long after the test start a controlled stale rate is measured."""


class Setting(NamedTuple):
    """The conditions of a replay of a case."""

    case: Case
    cache: Cache
    known: Known


@dataclass(frozen=True, slots=True)
class SettingResult:
    """The results of all policies in one setting."""

    setting: Setting
    curves: Mapping[str, Curve]
    """The curve of each policy by name."""
    by_kind: Mapping[str, Mapping[str, Curve]]
    """The same for the objects of each kind."""
    cached: int
    """The number of requests that found a copy."""
    oracle: float
    """The validations of the oracle, as a share of `cached`."""
    bounds: Mapping[float, float]
    """The offline bound at each stale rate, as a share of `cached`."""
    held: Mapping[float, tuple[float, int]] = field(default_factory=dict)
    """By target, the stale rate of the policy in detail with its price controlled, and the requests that found a copy,
    both after `SETTLED_S`; empty where no price is controlled."""
    replayed: int = 0
    """The number of points that were not finished before."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The policies, settings and stale rates to evaluate."""

    policies: Sequence[Compared]
    settings: Sequence[Setting]
    stale_rates: Sequence[float]

    def outcomes(self, jobs: int, finished: Path | None = None, bar: Bar = no_bar) -> Iterator[SettingResult]:
        """Replay all settings, and yield the outcome of each in their order.

        What is finished is read from the file `finished` and appended to it, by setting. Raises OSError for it, and
        BrokenProcessPool.
        """
        if compiles := self._is_worth_compiling:
            self._compile(bar)  # here, so that the worker processes share it
        found: dict[int, SettingResult] = {}
        kept = None if finished is None else FinishedPoints(finished, "")
        replaying = _Replaying(self.settings, SettingReplay(self.policies, self.stale_rates, kept, compiles))
        with (
            parallel_map(replaying, range(len(self.settings)), jobs) as replayed,
            bar("settings", len(self.settings)) as watch,
        ):
            for place, (identity, new, counts) in watch(replayed):
                found[place] = counts.result(self.settings[place], self.stale_rates)
                keep(kept, identity, new)
        yield from (found[place] for place in range(len(self.settings)))

    @property
    def _is_worth_compiling(self) -> bool:
        return is_worth_compiling(self.policies, sum(len(setting.case.requests) for setting in self.settings))

    def _compile(self, bar: Bar) -> None:
        """Compile all policies, each for complete and for observed histories where these occur."""
        one_each = {setting.known is Known.COMPLETE: setting for setting in self.settings}
        first = [one.points[0].policy for one in self.policies]
        with bar("compiling", len(one_each) * len(first)) as watch:
            for setting, policy in watch(iter(product(one_each.values(), first))):
                Engines(setting.case.scenario(setting.cache, setting.known), compiles=True).obstacle(policy)
            setting, subject = one_each.get(False), in_detail(self.policies)
            controlled = None if subject is None else subject.controlled(self.stale_rates[0])
            if setting is not None and controlled is not None:
                Engines(setting.case.scenario(setting.cache, setting.known), compiles=True).prepare([controlled])


@dataclass(frozen=True, slots=True)
class SettingCounts:
    """The counts of all policies in one setting, of a trace or of a part of it."""

    rows: Mapping[str, Sequence[Rows]]
    """Those of each policy by name, at each value of its parameter."""
    oracle: Rows
    bound: OfflineBound
    held: Mapping[float, tuple[int, int]]
    """By target, the stale hits and cached requests with a controlled price after `SETTLED_S`."""
    replayed: int
    """The number of points that were not finished before."""

    def result(self, setting: Setting, stale_rates: Sequence[float]) -> SettingResult:
        """Return the results."""
        cached = self.bound.cached or 1
        return SettingResult(
            setting,
            {name: _curve([own[0] for own in points]) for name, points in self.rows.items()},
            {
                str(kind[KIND]): {name: _curve_of(str(kind[KIND]), points) for name, points in self.rows.items()}
                for kind in self.oracle[1:]
            },
            self.bound.cached,
            _number(self.oracle[0], "validations") / cached,
            {rate: self.bound.validations(rate * self.bound.cached) / cached for rate in stale_rates},
            {target: (stale / after, after) for target, (stale, after) in self.held.items() if after},
            self.replayed,
        )


Counted = tuple[str, list[tuple[Policy, Rows]], SettingCounts]
"""The identity of a replay, the points that were not finished before, and the counts."""


@dataclass(frozen=True, slots=True)
class SettingReplay:
    """The replay of a setting, as a worker evaluates it."""

    policies: Sequence[Compared]
    stale_rates: Sequence[float]
    finished: FinishedPoints | None
    compiles: bool

    def __call__(self, setting: Setting) -> Counted:
        """Replay under all policies, where that was not finished before."""
        scenario = setting.case.scenario(setting.cache, setting.known)
        times_s = scenario.updates.times_by_object()
        kinds = Breakdown.by_label(KIND, kinds_of(times_s), scenario.objects)
        warm = None if scenario.warmup is None else scenario.warmup.warm
        run = RequestRun(Engines(scenario, compiles=self.compiles), warm, (kinds,))
        identity = run.identity()
        finished = None if self.finished is None else self.finished.of(identity)
        new: list[tuple[Policy, Rows]] = []

        def rows_of(policy: Policy) -> Rows:
            rows = None if finished is None else finished.get(policy)
            if rows is None:
                rows = run.rows(policy)
                new.append((policy, rows))
            return rows

        rows = {one.name: [rows_of(point.policy) for point in one.points] for one in self.policies}
        oracle = rows_of(ORACLE)
        held = self._held(setting, rows_of)
        return identity, new, SettingCounts(rows, oracle, OfflineBound.of(scenario), held, len(new))

    def controlled(self, known: Known) -> list[tuple[float, Policy]]:
        """Return the targets and the policies that hold them.

        Only with observed histories, where the fast engine controls prices.
        """
        subject = in_detail(self.policies)
        if subject is None or known not in (Known.OBSERVED, Known.CHANGED):
            return []
        found = [(target, subject.controlled(target)) for target in self.stale_rates]
        return [(target, policy) for target, policy in found if policy is not None]

    def _held(self, setting: Setting, rows_of: Callable[[Policy], Rows]) -> dict[float, tuple[int, int]]:
        """Return what became of each target."""
        controlled = self.controlled(setting.known)
        if not controlled:
            return {}
        case = setting.case
        begun = replace(case, requests=case.requests.before(case.test_start_s + SETTLED_S))
        engines = Engines(begun.scenario(setting.cache, setting.known), compiles=self.compiles)
        held = {}
        for target, policy in controlled:
            first, whole = engines.replay(policy), rows_of(policy)[0]
            held[target] = (
                round(_number(whole, "stale_hits")) - first.stale_hits, round(_number(whole, "cached")) - first.cached
            )
        return held


@dataclass(frozen=True, slots=True)
class _Replaying:
    """The replay of one of the settings."""

    settings: Sequence[Setting]
    replay: SettingReplay

    def __call__(self, place: int) -> Counted:
        return self.replay(self.settings[place])


def is_worth_compiling(policies: Sequence[Compared], requests: int) -> bool:
    """Whether policies are compiled for the replays of so many requests."""
    return requests * max(len(one.points) for one in policies) >= COMPILED_FROM


def keep(kept: FinishedPoints | None, identity: str, new: Sequence[tuple[Policy, Rows]]) -> None:
    """Append the points of a replay to those that are kept, if they are. Raises OSError."""
    if kept is not None:
        points = kept.of(identity)
        for policy, rows in new:
            points.add(policy, rows)


def _curve_of(kind: str, points: Sequence[Rows]) -> Curve:
    return _curve([row for rows in points for row in rows[1:] if row[KIND] == kind])


def _curve(rows: Sequence[Row]) -> Curve:
    cached = _number(rows[0], "cached") or 1.0
    return Curve([(_number(row, "stale_hits") / cached, _number(row, "validations") / cached) for row in rows])


def _number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return float(value)
