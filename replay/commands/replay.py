"""`bestbefore replay`: replay a recorded trace under policies and count the outcomes."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import click
from click.core import ParameterSource

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import RealClock
from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.commands.clusters.on_option import on_option
from bestbefore.replay.commands.clusters.parted_replay import parted_results, parted_runs
from bestbefore.replay.commands.messages import say
from bestbefore.replay.commands.progress import bar, in_order, spinner
from bestbefore.replay.commands.run_options import RunOptions, run_options
from bestbefore.replay.commands.scenario_options import ScenarioOptions, jobs_option, scenario_options
from bestbefore.replay.commands.trace_options import TraceOptions, read_given, trace_options
from bestbefore.replay.parted.replaying import PartedRun
from bestbefore.replay.report.chart import BOUND
from bestbefore.replay.report.count_tables import tables
from bestbefore.replay.report.folder import FINISHED, write_report
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.runs import Run
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Row, Rows
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.sweeps.sweep import Result, sweeping
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.errors import TraceError

type Replayed = tuple[Sequence[Run | PartedRun], Sequence[Path | None], Sequence[Sequence[Rows]]]
"""The runs, the folder of each for its report, and its counts under each policy."""


@click.command("replay", short_help="Replay a trace under policies.")
@trace_options
@scenario_options(Cache.CLIENT, Grouping.ALL)
@click.option("--policy", "specs", multiple=True, required=True, metavar="SPEC",
              help="Policy: NAME or NAME:KEY=VALUE,..., e.g. indttl:theta=0.1,window=1d. A value may be a range A..B/N "
              f"of N values. Repeatable. Names: {', '.join(POLICIES)}.")
@run_options
@jobs_option
@on_option
@click.option("--trace", "parts_path", type=click.Path(path_type=Path), metavar="DIR",
              help="Instead of --updates and --requests: folder of a trace in parts (bestbefore convert --parts). With "
              "more than one job its parts are replayed on a Dask cluster on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per policy, one per line.")
@click.option("--out", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write a report and the counts to this folder. An interrupted run continues there.")
def command(
    trace: TraceOptions,
    scenario: ScenarioOptions,
    options: RunOptions,
    specs: tuple[str, ...],
    jobs: int,
    on: str | None,
    parts_path: Path | None,
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Replay recorded updates and requests under policies, and count hits, stale hits and validations.

    With --refresh there are no requests: each object is refreshed when its policy says, and delays are measured.

    \b
      bestbefore replay --updates updates.csv --requests requests.csv --policy ttl --policy indttl:theta=0.01..1/9
      bestbefore replay --log access.log --format squid --policy ttl:alpha=0.1 --json
    """  # noqa: D301 - click keeps lines after a backspace
    options.check()
    points = [point for spec in specs for point in _points(spec)]
    is_requested = len(points)
    if folder is not None and not any(point.policy.name == BOUND for point in points):
        points += points_of(BOUND)
    if options.refresh:
        _refuse_what_requests_need(trace.requests_path, scenario.cache)
    try:
        if parts_path is None:
            if on is not None:
                raise InputError("--on needs --trace DIR, a trace in parts (bestbefore convert --parts N)")
            replayed = _replayed(trace, scenario, options, points, is_requested, jobs, folder)
        elif trace != TraceOptions():
            raise InputError("--trace DIR replaces --updates, --requests and --log: give one or the others")
        else:
            replayed = _replayed_in_parts(parts_path, scenario, options, points, on, jobs, folder)
        runs, folders, results = replayed
    except (ValueError, TraceError) as error:
        raise InputError(str(error)) from None
    sources = {
        "file of updates": trace.updates_path, "file of requests": trace.requests_path, "log": trace.log_path,
        "folder of the trace": parts_path,
    }
    for run, into, rows_of_points in zip(runs, folders, results, strict=True):
        if into is not None:
            _write(into, run, points, rows_of_points, sources)
    shown = [
        (run, point, rows_of_points[place])
        for place, point in enumerate(points[:is_requested])
        for run, rows_of_points in zip(runs, results, strict=True)
    ]
    if as_json:
        for run, point, rows in shown:
            for row in _json_rows(run, point, rows):
                click.echo(json.dumps(row))
    else:
        click.echo(_text(shown))


def _points(spec: str) -> list[Point]:
    try:
        return points_of(spec)
    except ValueError as error:
        raise InputError(f"--policy {spec}: {error}") from None


def _refuse_what_requests_need(requests_path: Path | None, cache: str) -> None:
    if requests_path is not None:
        raise InputError("--refresh uses no requests: give either --refresh or --requests FILE")
    if click.get_current_context().get_parameter_source("cache") is not ParameterSource.DEFAULT:
        raise InputError(f"--cache {cache}: --refresh uses no cache: give one of them")


def _runs(options: RunOptions, updates: Updates, requests: Requests | None, scenario: ScenarioOptions) -> Sequence[Run]:
    """Return the runs of a trace. Raises ValueError and InputError."""
    if options.refresh:
        if requests is not None:
            say("with --refresh the updates of a log count, not its requests")
        return options.refreshing(updates, scenario)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, a log of requests, or --refresh")
    return options.replaying(updates, requests, scenario)


def _replayed(
    trace: TraceOptions, scenario: ScenarioOptions, options: RunOptions, points: Sequence[Point], is_requested: int,
    jobs: int, folder: Path | None,
) -> Replayed:
    runs = _runs(options, *read_given(trace), scenario)
    if options.through is not None:
        _refuse_obstacles(runs, points[:is_requested], options.through)
    else:
        _say_obstacles(runs, points[:is_requested])
    folders = _folders(folder, runs)
    return runs, folders, [_results(run, points, jobs, into) for run, into in zip(runs, folders, strict=True)]


def _replayed_in_parts(
    path: Path, scenario: ScenarioOptions, options: RunOptions, points: Sequence[Point], on: str | None, jobs: int,
    folder: Path | None,
) -> Replayed:
    runs = parted_runs(path, options, scenario, points)
    folders = _folders(folder, runs)
    return runs, folders, parted_results(runs, options, scenario, points, on, jobs, folders)


def _folders(folder: Path | None, runs: Sequence[Run | PartedRun]) -> list[Path | None]:
    return [folder if folder is None or len(runs) == 1 else folder / run.history for run in runs]


def _refuse_obstacles(runs: Sequence[Run], points: Sequence[Point], through: str) -> None:
    for point, why in _obstacles(runs, points):
        if why is not None:
            raise InputError(f"--through {through}, --policy {point.spec}: {why}")


def _obstacles(runs: Sequence[Run], points: Sequence[Point]) -> list[tuple[Point, str | None]]:
    """Return each policy with what keeps the engine from it, for each run. To know that, the first are compiled."""
    with spinner("compiling"):
        return [(point, run.obstacle(point.policy)) for run in runs for point in points]


def _say_obstacles(runs: Sequence[Run], points: Sequence[Point]) -> None:
    for why in dict.fromkeys(why for _, why in _obstacles(runs, points)):
        if why is not None:
            say(f"{why}: replayed by the plain engine, which takes longer")


def _results(run: Run, points: Sequence[Point], jobs: int, folder: Path | None) -> list[Rows]:
    run.prepare([point.policy for point in points])
    if len(points) == 1:
        policy = points[0].policy
        with bar(points[0].spec, run.items(policy)) as watch:
            return [run.rows(policy, watch)]
    finished = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        finished = FinishedPoints(folder / FINISHED, run.identity())
    try:
        return in_order(sweeping(points, run.rows, jobs, finished), len(points), "policies")
    except KeyboardInterrupt:
        if folder is not None:
            say(f"interrupted; what was finished is kept in {folder}, where the same command goes on")
        raise


def _write(
    folder: Path,
    run: Run | PartedRun,
    points: Sequence[Point],
    results: Sequence[Rows],
    sources: Mapping[str, Path | None],
) -> None:
    files = {kind: str(path) for kind, path in sources.items() if path is not None}
    made = {"made": f"{utc(RealClock().now())} by bestbefore {version('bestbefore')}"}
    done = {"engines": _engines(run, points), "command": shlex.join(["bestbefore", *sys.argv[1:]])}
    shown = {**files, **run.facts(), **done, **made}
    rows = [row for point, rows in zip(points, results, strict=True) for row in _json_rows(run, point, rows)]
    drawn = [_counted(point, rows[0]) for point, rows in zip(points, results, strict=True)]
    parts = {
        breakdown.key: [
            (str(row[breakdown.key]), _counted(point, row))
            for point, rows in zip(points, results, strict=True)
            for row in rows
            if breakdown.key in row
        ]
        for breakdown in run.breakdowns
    }
    write_report(folder, drawn, rows, shown, run.measure, parts)


def _counted(point: Point, row: Row) -> Result:
    """Make a result from the numbers of a row."""
    return Result(point, {name: n for name, n in row.items() if isinstance(n, int | float)})


def _engines(run: Run | PartedRun, points: Sequence[Point]) -> str:
    """Return the engines with the policies that each replayed, as text."""
    policies: dict[str, list[str]] = {}
    for point in points:
        names = policies.setdefault(str(run.conditions(point.policy)["through"]), [])
        if point.policy.name not in names:
            names.append(point.policy.name)
    return "; ".join(f"{through} for {', '.join(names)}" for through, names in policies.items())


def _json_rows(run: Run | PartedRun, point: Point, rows: Rows) -> list[dict[str, object]]:
    """Return the JSON objects of a policy: one for the whole trace, then one for each part."""
    policy = {"policy": point.policy.name, "params": params(point.policy), **run.conditions(point.policy)}
    return [{**policy, **row} for row in rows]


def _text(shown: Sequence[tuple[Run | PartedRun, Point, Rows]]) -> str:
    several = len({run.history for run, _, _ in shown}) > 1
    heads = ["policy", "history", "through"] if several else ["policy", "through"]
    lines = []
    for run, point, rows in shown:
        named = {"policy": point.spec, "history": run.history, **run.conditions(point.policy)}
        lines += [([str(named[head]) for head in heads], row) for row in rows]
    return tables(heads, lines, [breakdown.key for breakdown in shown[0][0].breakdowns])
