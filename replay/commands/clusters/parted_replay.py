"""The replay of a trace in parts, on a cluster or in processes of this machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import opened_cluster
from bestbefore.replay.commands.messages import say
from bestbefore.replay.commands.progress import bar
from bestbefore.replay.commands.run_options import RunOptions
from bestbefore.replay.commands.scenario_options import ScenarioOptions
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.replaying import PartedRun, PartedSweep, PartReplay
from bestbefore.replay.report.folder import FINISHED
from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.engines import Through
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Rows
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.sweeps.progress import no_bar
from bestbefore.replay.traces.errors import TraceError


def parted_runs(
    folder: Path, options: RunOptions, scenario: ScenarioOptions, points: Sequence[Point]
) -> list[PartedRun]:
    """Return the runs over a trace in parts, one for each kind of history.

    Raises InputError where the parts cannot be replayed separately, and TraceError.
    """
    if options.refresh:
        raise InputError("--trace is replayed with its requests: --refresh needs --updates FILE")
    if options.engine is Through.ADDON:
        raise InputError("--through addon replays one file: give --updates and --requests")
    trace = PartedTrace.read(folder)
    labels = options.objects_path
    try:
        digest = "" if labels is None else blake2b(labels.read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise TraceError(f"{labels}: {error.strerror}") from None
    runs = [
        PartedRun(
            trace, scenario.cache, scenario.grouping, warm, options.tells_times, options.engine, scenario.origin_s,
            scenario.test_start_s, [Breakdown(key, {}) for key in options.breakdown_keys], digest,
        )
        for warm in options.warms
    ]
    for point in points:
        if (why := runs[0].obstacle(point.policy)) is not None:
            raise InputError(f"--policy {point.spec}: {why}")
    return runs


def parted_results(
    runs: Sequence[PartedRun],
    options: RunOptions,
    scenario: ScenarioOptions,
    points: Sequence[Point],
    on: str | None,
    jobs: int,
    folders: Sequence[Path | None],
) -> list[list[Rows]]:
    """Return the counts over all parts, for each run and point. What is finished is kept in the folders, if any."""
    trace = runs[0].trace
    for folder in folders:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    # The replay of a part is identified by the part; see `PartedRun.part_identity`.
    finished = [None if folder is None else FinishedPoints(folder / FINISHED, "") for folder in folders]
    sweep = PartedSweep(runs, [point.policy for point in points], finished)
    given = options if options.objects_path is None else options.with_whole_path()
    whole = scenario if scenario.origin_s is not None else scenario.from_(trace.first_s)
    replayed = PartReplay(trace.folder.resolve(), trace, partial(given.replaying, given=whole, warn=ignore, bar=no_bar))
    try:
        with _mapped(replayed, sweep, on, jobs) as values, bar("parts by policies", sweep.points) as watch:
            for _ in watch(sweep.take(values)):
                pass
    except KeyboardInterrupt:
        if folders[0] is not None:
            say("interrupted; what was finished is kept, and the same command goes on there")
        raise
    return sweep.results()


@contextmanager
def _mapped(
    replayed: PartReplay, sweep: PartedSweep, on: str | None, jobs: int
) -> Iterator[Iterator[tuple[int, list[list[Rows]]]]]:
    jobs = min(jobs, sweep.points)
    if on is None and jobs <= 1:
        with parallel_map(replayed, sweep.work, 1) as values:
            yield values
    else:
        with opened_cluster(on, jobs) as cluster:
            sweep.divide(cluster.threads)
            with cluster.map(replayed, sweep.work) as values:
                yield values
