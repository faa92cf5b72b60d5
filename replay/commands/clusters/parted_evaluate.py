"""The evaluation of policies on a trace in parts, on a cluster or in processes of this machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import opened_cluster
from bestbefore.replay.commands.progress import bar, in_order
from bestbefore.replay.evaluation.case import Case, Known
from bestbefore.replay.evaluation.compared import Compared
from bestbefore.replay.evaluation.evaluation import Setting, SettingReplay, SettingResult, is_worth_compiling
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.parted.evaluating import (
    PartCases,
    PartSetting,
    PartTotals,
    Work,
    evaluated_parts,
    without_events,
)
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.replaying import obstacle
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.finished_points import FinishedPoints
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError


@dataclass(frozen=True, slots=True)
class EvaluatedParts:
    """A trace in parts, and how it is evaluated."""

    folder: Path
    family: str
    """The name of the family of the case."""
    origin_s: float | None
    test_start_s: float | None
    grouping: Grouping
    half: Half
    conditions: Sequence[tuple[Cache, Known]]
    policies: Sequence[Compared]
    stale_rates: Sequence[float]

    def results(self, on: str | None, jobs: int, finished: Path | None) -> tuple[PartTotals, list[SettingResult]]:
        """Return what is known of the trace, and the results in each setting.

        What is finished is read from the file `finished` and appended to it, by part. Raises InputError.
        """
        try:
            trace = PartedTrace.read(self.folder)
            origin_s = trace.first_s if self.origin_s is None else self.origin_s
            test_start_s = origin_s if self.test_start_s is None else self.test_start_s
            if test_start_s < origin_s:
                raise InputError(f"--test-start {test_start_s:.17g} lies before --origin {origin_s:.17g}")
            case = Case(self.family, "as given", *without_events(), origin_s, test_start_s, self.grouping)
            kept = None if finished is None else FinishedPoints(finished, "")
            compiles = is_worth_compiling(self.policies, trace.requests * len(self.conditions))
            replay = SettingReplay(self.policies, self.stale_rates, kept, compiles)
            self._refuse_what_needs_the_whole(trace, replay)
            with _mapped(on, jobs) as work:
                return self._results(PartCases(trace, self.folder.resolve(), case, self.half), replay, work)
        except TraceError as error:
            raise InputError(str(error)) from None

    def _results(
        self, cases: PartCases, replay: SettingReplay, work: Work
    ) -> tuple[PartTotals, list[SettingResult]]:
        numbers = range(len(cases.trace.parts))
        totals = PartTotals.of_all(in_order(work(cases, numbers), len(numbers), "times of parts"))
        if not totals.requests:
            raise InputError(f"the {self.half} half of the objects has no requests")
        if not totals.tested:
            raise InputError(f"no request at or after the test start, {cases.case.test_start_s:.17g}")
        cases = replace(cases, case=replace(cases.case, first_s=totals.first_s))
        settings = [Setting(cases.case, cache, known) for cache, known in self.conditions]
        with bar("parts by settings", len(numbers) * len(settings)) as watch:
            counts = evaluated_parts(PartSetting(cases, settings, replay), work, lambda values: iter(watch(values)))
        found = zip(counts, settings, strict=True)
        return totals, [one.result(setting, self.stale_rates) for one, setting in found]

    def _refuse_what_needs_the_whole(self, trace: PartedTrace, replay: SettingReplay) -> None:
        policies = [point.policy for one in self.policies for point in one.points]
        policies += [policy for _, known in self.conditions for _, policy in replay.controlled(known)]
        for policy in policies:
            if (why := obstacle(trace, self.grouping, policy)) is not None:
                raise InputError(f"--trace {self.folder}: {why}")


@contextmanager
def _mapped(on: str | None, jobs: int) -> Iterator[Work]:
    if on is None and jobs == 1:
        yield partial(parallel_map, jobs=1)
        return
    with opened_cluster(on, jobs) as cluster:
        yield cluster.map
