"""The replays of a recommendation from a trace in parts, on a cluster or in processes of this machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.commands.clusters.on_option import opened_cluster
from bestbefore.replay.commands.progress import in_order
from bestbefore.replay.commands.scenario_options import ScenarioOptions
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.recommending import PartedReplays, PartReader, Question, replayed_ends
from bestbefore.replay.parted.replaying import obstacle
from bestbefore.replay.parts import Parts
from bestbefore.replay.planning.parted.part_files import MapOver
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError


@dataclass(frozen=True, slots=True)
class _Asked:
    """The parts of a trace, asked where they are read."""

    reader: PartReader
    over: MapOver
    threads: int

    def __call__(self, questions: Sequence[tuple[int, Question]], what: str) -> list[Any]:
        return in_order(self.over(self.reader, questions), len(questions), what)


@contextmanager
def replays_in_parts(
    folder: Path, scenario: ScenarioOptions, warm: Warm | None, policies: Sequence[Policy], on: str | None, jobs: int
) -> Iterator[tuple[PartedReplays, PartedReplays, tuple[float, float, float]]]:
    """Yield the replays of the two parts of the time, and the times of start, split and end, in Unix seconds.

    Raises InputError where parts cannot be replayed separately under one of the policies, and for the trace.
    """
    try:
        trace = PartedTrace.read(folder)
        for policy in policies:
            if (why := obstacle(trace, scenario.grouping, policy)) is not None:
                raise InputError(f"--trace {folder}: {why}")
        given = scenario if scenario.origin_s is not None else scenario.from_(trace.first_s)
        reader = PartReader(trace, folder.resolve(), partial(given.made, warm=warm, warn=ignore))
        with _opened(reader, on, jobs) as ask:
            ends = replayed_ends(trace, ask)
            first, then = (PartedReplays(trace, ask, ends, is_first) for is_first in (True, False))
            yield first, then, (ends[0], Parts.split_of(*ends), ends[1])
    except (ValueError, TraceError) as error:
        raise InputError(str(error)) from None


@contextmanager
def _opened(reader: PartReader, on: str | None, jobs: int) -> Iterator[_Asked]:
    if on is None and jobs == 1:
        yield _Asked(reader, partial(parallel_map, jobs=1), 1)
        return
    with opened_cluster(on, jobs) as cluster:
        yield _Asked(reader, cluster.map, cluster.threads)
