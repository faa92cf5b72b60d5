"""`bestbefore replay`: what a recorded trace would have met under policies."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import RealClock
from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.policy import Policy
from bestbefore.policies.validation.spec import params
from bestbefore.replay import plain
from bestbefore.replay.commands.progress import bar, in_order
from bestbefore.replay.commands.scenario_options import jobs_option, scenario_options
from bestbefore.replay.commands.trace_options import read_given, trace_options
from bestbefore.replay.complete import Grouping
from bestbefore.replay.finished import Finished, identity
from bestbefore.replay.grid import Point, points_of
from bestbefore.replay.report.chart import BOUND
from bestbefore.replay.report.facts import facts
from bestbefore.replay.report.folder import FINISHED, write_report
from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.sweep import Result, sweeping


@click.command("replay", short_help="Replay recorded updates and requests under policies.")
@trace_options
@scenario_options(Cache.CLIENT, Grouping.ALL)
@click.option("--policy", "specs", multiple=True, required=True, metavar="SPEC",
              help="name or name:key=value,key=value, e.g. indttl:theta=0.1,window=1d. A value may be a range of N "
              "values, A..B/N. May be repeated.")
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per policy, one a line.")
@click.option("--out", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write a report and the counts to this folder. What was ended early goes on from there.")
def command(
    updates_path: Path | None,
    requests_path: Path | None,
    log_path: Path | None,
    format_name: str | None,
    test_start_s: float | None,
    origin_s: float | None,
    cache: str,
    grouping: str,
    specs: tuple[str, ...],
    jobs: int,
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Replay recorded updates and requests under policies, and count hits, stale hits and validations."""
    points = [point for spec in specs for point in _points(spec)]
    asked_for = len(points)
    if folder is not None and not any(point.policy.name == BOUND for point in points):
        points += points_of(BOUND)
    updates, requests = read_given(updates_path, requests_path, log_path, format_name, warn=_warn, say=_say)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, or a log of requests")
    try:
        scenario = Scenario.of(
            updates,
            requests,
            origin_s=origin_s,
            test_start_s=test_start_s,
            cache=Cache(cache),
            grouping=Grouping(grouping),
            warn=_warn,
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    results = _results(scenario, points, jobs, folder)
    rows = [_row(scenario, result) for result in results]
    if folder is not None:
        sources = {"file of updates": updates_path, "file of requests": requests_path, "log": log_path}
        write_report(folder, results, rows, _facts(scenario, sources))
    if as_json:
        for row in rows[:asked_for]:
            click.echo(json.dumps(row))
    else:
        click.echo(_table(results[:asked_for]))


def _points(spec: str) -> list[Point]:
    try:
        return points_of(spec)
    except ValueError as error:
        raise InputError(f"--policy {spec}: {error}") from None


def _warn(message: str) -> None:
    _say(f"warning: {message}")


def _say(message: str) -> None:
    click.echo(f"bestbefore replay: {message}", err=True)


def _results(scenario: Scenario, points: Sequence[Point], jobs: int, folder: Path | None) -> list[Result]:
    if len(points) == 1:
        with bar(points[0].spec, len(scenario.requests)) as watch:
            return [Result(points[0], plain.replay(scenario, points[0].policy, watch).by_name())]
    finished = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        finished = Finished(folder / FINISHED, identity(scenario))
    try:
        return in_order(sweeping(points, partial(_count, scenario), jobs, finished), len(points), "policies")
    except KeyboardInterrupt:
        if folder is not None:
            _say(f"interrupted; what was finished is kept in {folder}, where the same command goes on")
        raise


def _count(scenario: Scenario, policy: Policy) -> Mapping[str, float]:
    return plain.replay(scenario, policy).by_name()


def _row(scenario: Scenario, result: Result) -> dict[str, object]:
    """What is printed and kept of a policy, as JSON."""
    return {
        "policy": result.point.policy.name,
        "params": params(result.point.policy),
        "cache": scenario.cache,
        "history": "complete",
        "through": "plain",
        **result.counts,
    }


def _facts(scenario: Scenario, sources: Mapping[str, Path | None]) -> dict[str, str]:
    """What the report says of the replay, beside its results."""
    files = {kind: str(path) for kind, path in sources.items() if path is not None}
    made = {"made": f"{utc(RealClock().now())} by bestbefore {version('bestbefore')}"}
    return {**files, **facts(scenario), "command": shlex.join(["bestbefore", *sys.argv[1:]]), **made}


def _table(results: Sequence[Result]) -> str:
    """Counts in columns, a policy a line."""
    lines = [["policy", *(name.replace("_", " ") for name in results[0].counts)]]
    lines += [[result.point.spec, *(f"{n:,}" for n in result.counts.values())] for result in results]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )
