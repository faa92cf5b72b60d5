"""`bestbefore plan`: plan the number, times and slots of contacts with objects within a budget."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import numpy as np

from bestbefore.addon.admin.units import counted, utc
from bestbefore.addon.errors import InputError
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.validation.machinery.spec import parse_duration
from bestbefore.replay.commands.clusters.on_option import on_option
from bestbefore.replay.commands.clusters.plan_in_parts import SLOTS_NEED_OUT, PartFolders, plan_in_parts
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.number_option import is_positive, number
from bestbefore.replay.commands.progress import bar, open_watched, spinner
from bestbefore.replay.planning.continuing import rest_of
from bestbefore.replay.planning.drawing import drawing
from bestbefore.replay.planning.inputs.closed_file import ClosedTime, read_closed
from bestbefore.replay.planning.inputs.made_file import MadeContact, read_made
from bestbefore.replay.planning.inputs.object_file import read_objects
from bestbefore.replay.planning.inputs.trace_objects import learnt
from bestbefore.replay.planning.moments import Moments, Punctuality, crawls_of
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.owners import owners_of
from bestbefore.replay.planning.plan import Aim, ContactPlan, best_plan
from bestbefore.replay.planning.plan_files import Write, json_parts, write_csv, write_slots, write_whole
from bestbefore.replay.planning.slotted import Slotted, slotted
from bestbefore.replay.planning.summary import period_shown, summary
from bestbefore.replay.planning.target import PlanTarget, budget_for
from bestbefore.replay.sweeps.progress import no_bar
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError

BOUNDARY_NEEDS = "--boundary needs --discrete"
BUDGET_OR_TARGET = (
    "expected either --budget N and --objective freshness, age or delay, or --target MEASURE=VALUE"
)
BOUNDARIES = ("periodic", "interval")
OUT_FORMATS = (".csv", ".json")

def _slots(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[int] | None:
    if value is None:
        return None
    numbers = value.split(",")
    if not all(text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0 for text in numbers):
        raise InputError(f"--slots {value}: expected a whole number from 1 to 999,999,999, or one for each crawler")
    return [int(text) for text in numbers]


def _parse_target(_ctx: click.Context, _param: click.Parameter, value: str | None) -> PlanTarget | None:
    try:
        return None if value is None else PlanTarget.parse(value)
    except ValueError:
        raise InputError(
            f"--target {value}: expected a freshness between 0 and 1, or an age or a delay of more than 0: "
            "freshness=0.8, age=2h or delay=10m, for example"
        ) from None


@click.command("plan", short_help="Plan contacts within a budget.")
@file_option("--objects", "objects_path",
             "CSV file with the columns id,rate (updates per period); optional: weight,min,max (contacts per "
             "period),model,shape. Or a folder of Parquet files, parts of the objects that need not be in memory "
             "together.")
@file_option("--updates", "updates_path",
             "Instead of --objects: CSV file with the columns object,time (Unix seconds), or .npz or Parquet, from "
             "which rates are estimated.")
@file_option("--requests", "requests_path",
             "CSV file with the columns client,object,time, or .npz or Parquet: weights are multiplied by the requests "
             "(clicks) for each object, so that the fewest get an outdated answer.")
@click.option("--budget", metavar="N",
              callback=number("a number of contacts per period of more than 0", is_positive),
              help="Contacts per period, a number above 0.")
@click.option("--target", metavar="MEASURE=VALUE", callback=_parse_target,
              help="Instead of --budget and --objective: freshness=0.8, age=2h or delay=10m, for example. The least "
              "budget with which the plan reaches this mean is found.")
@click.option("--objective", type=click.Choice(list(OBJECTIVES)),
              help="What to optimise: the share of time in which copies are current, their mean age, or the mean delay "
              "of updates.")
@click.option("--period", "period_s", default="1d", show_default=True, metavar="DURATION",
              callback=number("a duration of more than 0", is_positive, parse_duration),
              help="Period of rates and budget: seconds, or a number with s, m, h or d.")
@click.option("--discrete", is_flag=True, help="Plan a whole number of contacts per period, with the time of each.")
@click.option("--boundary", type=click.Choice(BOUNDARIES),
              help="With --discrete: the plan repeats (periodic, the default), or all copies are current at its "
              "start (interval).")
@click.option("--crawlers", type=click.IntRange(min=1), metavar="N",
              help="With --discrete and --slots: number of crawlers that make the contacts.")
@click.option("--slots", callback=_slots, metavar="N[,N...]",
              help="With --discrete and --crawlers: number of slots per period, one for all crawlers or one for each "
              "(96,96,24).")
@file_option("--closed", "closed_path",
             "With --slots: CSV file with the columns start_s,end_s (seconds of the period) and optionally id,crawler: "
             "times in which no contact starts, of all or one object, by all or one crawler.")
@click.option("--longest-delay", "longest_s", metavar="DURATION",
              callback=number("a duration of more than 0", is_positive, parse_duration),
              help="At most this time between two contacts with an object that changes: seconds, or a number with s, "
              "m, h or d. Contacts are then evenly spaced.")
@click.option("--per-host-interval", "interval_s", metavar="DURATION",
              callback=number("a duration of more than 0", is_positive, parse_duration),
              help="At most one contact in this time, on average, with all objects of a registrable domain, as the "
              "proxy's setting: seconds, or a number with s, m, h or d.")
@click.option("--clusters", type=click.IntRange(min=1), metavar="N",
              help="With --updates and --discrete: hours of the day by this number of k-means clusters of objects "
              "instead of one common pattern.")
@file_option("--made", "made_path",
             "With --discrete: continue a plan after these contacts: CSV file with the columns id,start_s (seconds of "
             "the period; negative: before it), as the file of slots, which has those of the rest then.")
@click.option("--now", "now_s", metavar="DURATION",
              callback=number("a duration of 0 or more", lambda value: 0.0 <= value < math.inf, parse_duration),
              help="With --made: how much of the period has passed: seconds, or a number with s, m, h or d; "
              "by default up to the last contact made.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="With a folder of parts: number of processes (default 1).")
@on_option
@click.option("--json", "as_json", is_flag=True,
              help="Print the plan as JSON instead of a summary; of a folder of parts its results.")
@click.option("--out", "out_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the plan to this file (.csv or .json), and a chart beside it (.svg); of a folder of parts "
              "to this new folder.")
def command(
    objects_path: Path | None,
    updates_path: Path | None,
    requests_path: Path | None,
    budget: float | None,
    target: PlanTarget | None,
    objective: str | None,
    period_s: float,
    boundary: str | None,
    crawlers: int | None,
    slots: list[int] | None,
    closed_path: Path | None,
    longest_s: float | None,
    interval_s: float | None,
    clusters: int | None,
    made_path: Path | None,
    now_s: float | None,
    jobs: int | None,
    on: str | None,
    out_path: Path | None,
    *,
    discrete: bool,
    as_json: bool,
) -> None:
    """Divide a budget of contacts among objects to optimise freshness, age or delay.

    The rates of change are read from a file or estimated from a trace of updates. With --live, show the plan of a
    proxy instead: see `bestbefore plan --live --help`.

    \b
      bestbefore plan --objects rates.csv --budget 100 --objective freshness
    """  # noqa: D301 - click keeps lines after a backspace
    _refuse_lone_options({
        "--per-host-interval is not for --made": interval_s is not None and made_path is not None,
        "--closed needs --crawlers and --slots": closed_path is not None and slots is None,
    })
    in_all = _slots_of_crawlers(crawlers, slots)
    if objects_path is not None and objects_path.is_dir():
        unfit = {
            "--updates": updates_path, "--requests": requests_path,
            "--longest-delay": longest_s, "--clusters": clusters, "--made": made_path, "--now": now_s,
        }
        _refuse_lone_options({f"{name} is not for --objects FOLDER": bool(value) for name, value in unfit.items()})
        _refuse_what_does_not_fit(discrete=discrete, boundary=boundary, crawlers=crawlers, slots=slots, out_path=None)
        folders = PartFolders(objects_path, jobs or 1, on, out_path, interval_s, in_all, closed_path)
        plan_in_parts(folders, _aim(budget, target, objective, period_s, discrete, boundary), target, as_json=as_json)
        return
    _refuse_lone_options({"--jobs and --on need --objects FOLDER": jobs is not None or on is not None})
    _refuse_what_does_not_fit(discrete=discrete, boundary=boundary, crawlers=crawlers, slots=slots, out_path=out_path)
    _refuse_lone_options({
        "--clusters needs --updates and --discrete, and no --longest-delay":
            clusters is not None and (updates_path is None or not discrete or longest_s is not None),
        "--made needs --budget, not --target": made_path is not None and target is not None,
        "--now needs --made": now_s is not None and made_path is None,
        "--made needs --discrete, and no --longest-delay or --clusters":
            made_path is not None and (not discrete or longest_s is not None or clusters is not None),
    })
    aim = _aim(budget, target, objective, period_s, discrete, boundary)
    try:
        with_laws = aim.discrete and aim.objective == "freshness" and made_path is None
        objects, source = _objects(objects_path, updates_path, aim, with_laws=with_laws, with_beats=longest_s is None)
        if requests_path is not None:
            objects = _weighted(objects, requests_path)
        if interval_s is not None:
            objects = replace(objects, owners=owners_of(objects.ids, period_s / interval_s))
        with spinner("planning"):
            made = None if made_path is None else read_made(made_path)
            plan = _plan(objects, aim, target, source, longest_s, made, now_s)
            plan.mean(aim.objective)
        if target is not None:
            say(f"{target} needs {plan.aim.budget:,.6g} contacts per {period_shown(period_s)}")
        moments, punctuality, in_slots = None, None, None
        if out_path is not None or slots is not None or (plan.objects.hourly is not None and not as_json):
            closed = [] if closed_path is None else read_closed(closed_path, len(in_all))
            moments, punctuality, in_slots = _timed(plan, in_all, closed, clusters)
    except TraceError as error:
        raise InputError(str(error)) from None
    except ValueError as error:
        raise InputError(f"{objects_path or updates_path}: {error}") from None
    if out_path is not None and moments is not None:
        _write(plan, moments, in_slots, out_path)
    if as_json:
        if in_slots is not None and out_path is None:
            say(SLOTS_NEED_OUT)
        for part in json_parts(plan, no_bar if sys.stdout.isatty() else bar):
            click.echo(part, nl=False)
        return
    with spinner("comparing with other plans"):
        text = summary(plan, punctuality, in_slots)
    click.echo(text)


def _aim(
    budget: float | None, target: PlanTarget | None, objective: str | None, period_s: float, discrete: bool,
    boundary: str | None,
) -> Aim:
    """Return the aim; with a target its budget is to be found."""
    if target is not None:
        if budget is not None or objective not in (None, target.measure):
            raise InputError(BUDGET_OR_TARGET)
        budget, objective = math.inf, target.measure
    if budget is None or objective is None:
        raise InputError(BUDGET_OR_TARGET)
    return Aim(objective, budget, period_s, discrete, "interval" if boundary == "interval" else "periodic")


def _refuse_what_does_not_fit(
    *, discrete: bool, boundary: str | None, crawlers: int | None, slots: list[int] | None, out_path: Path | None
) -> None:
    if boundary is not None and not discrete:
        raise InputError(BOUNDARY_NEEDS)
    if (crawlers is None) != (slots is None):
        raise InputError("--crawlers and --slots need each other: give both or neither")
    if crawlers is not None and slots is not None and len(slots) not in (1, crawlers):
        raise InputError(f"--slots {','.join(map(str, slots))}: expected one number, or {crawlers} for --crawlers")
    if crawlers is not None and not discrete:
        raise InputError("--crawlers and --slots need --discrete")
    if out_path is not None and (out_path.suffix not in OUT_FORMATS or out_path.is_dir()):
        raise InputError(f"--out {out_path}: expected a name that ends in {' or '.join(OUT_FORMATS)}")


def _slots_of_crawlers(crawlers: int | None, slots: list[int] | None) -> list[int]:
    """Return the number of slots of each crawler; none without slots."""
    if crawlers is None or slots is None:
        return []
    return slots * crawlers if len(slots) == 1 else slots


def _refuse_lone_options(problems: Mapping[str, bool]) -> None:
    """Raise an InputError for the first problem that there is."""
    for problem, there in problems.items():
        if there:
            raise InputError(problem)


def _objects(
    objects_path: Path | None, updates_path: Path | None, aim: Aim, *, with_laws: bool, with_beats: bool
) -> tuple[PlannedObjects, Path]:
    """Return the objects of the plan and their file. Raises TraceError and ValueError."""
    if objects_path is not None and updates_path is None:
        return read_objects(objects_path, open_watched), objects_path
    if updates_path is None or objects_path is not None:
        raise InputError("expected either --objects FILE or --updates FILE")
    with spinner(f"reading {updates_path.name}"):
        updates = read_updates(updates_path, warn)
    if not len(updates):
        raise TraceError(f"{updates_path}: no update, expected some that show how often objects change")
    objects = learnt(updates, aim.period_s, with_laws=with_laws, with_beats=with_beats, bar=bar)
    first, last = utc(float(updates.times_s[0])), utc(float(updates.times_s[-1]))
    say(
        f"{updates_path}: {counted(len(updates), 'update')} of {counted(len(objects), 'object')} from {first} to "
        f"{last}; each is taken to be observed from its first update to the end"
    )
    return objects, updates_path


def _weighted(objects: PlannedObjects, requests_path: Path) -> PlannedObjects:
    with spinner(f"reading {requests_path.name}"):
        requests = read_requests(requests_path, warn)
    counts = np.bincount(requests.object_ids, minlength=len(requests.objects)).tolist()
    try:
        return objects.weighted_by(dict(zip(requests.objects, counts, strict=True)))
    except ValueError as error:
        raise TraceError(f"{requests_path}: {error}") from None


def _plan(
    objects: PlannedObjects,
    aim: Aim,
    target: PlanTarget | None,
    source: Path,
    longest_s: float | None,
    made: Sequence[MadeContact] | None,
    now_s: float | None,
) -> ContactPlan:
    try:
        if made is not None:
            objects, aim = rest_of(objects, aim, made, now_s)
        if longest_s is not None:
            objects = objects.contacted_within(longest_s / aim.period_s, aim.boundary, discrete=aim.discrete)
        return best_plan(objects, aim if target is None else replace(aim, budget=budget_for(objects, aim, target)))
    except RowError as error:
        where = f"id {objects.ids[error.row]!r}" if objects.lines is None else f"line {objects.lines[error.row]}"
        raise TraceError(f"{source}: {where}: {error.problem}") from None


def _timed(
    plan: ContactPlan, slots: Sequence[int], closed: Sequence[ClosedTime], clusters: int | None
) -> tuple[Moments, Punctuality | None, Slotted | None]:
    """Return the times of contacts, their mean delays if daily patterns are used, and their slots if there are any."""
    if not plan.aim.discrete:
        return Moments.spaced(plan), None, None
    objects, begins_s = plan.objects, plan.aim.begins_s
    period_s = begins_s + plan.aim.period_s
    crawls, punctuality = crawls_of(plan, bar, clusters)
    crawls = replace(crawls, at_s=begins_s + crawls.at_s)
    if not slots:
        return Moments.of(crawls, crawls.at_s, len(objects), period_s), punctuality, None
    with spinner("assigning slots"):
        in_slots = slotted(crawls, objects.ids, slots, period_s, closed, begins_s)
    return Moments.of(crawls, in_slots.assignment.start_s, len(objects), period_s), punctuality, in_slots


def _write(plan: ContactPlan, moments: Moments, in_slots: Slotted | None, path: Path) -> None:
    """Write the plan, its chart, and its slots if there are any."""
    with spinner("drawing"):
        picture = drawing(plan)
    files: dict[Path, Write] = {
        path: partial(write_csv, plan, moments, bar=bar) if path.suffix == ".csv"
        else lambda file: file.writelines(json_parts(plan, bar)),
        path.with_suffix(".svg"): lambda file: file.writelines([picture]),
    }
    if in_slots is not None:
        files[path.with_suffix(".slots.csv")] = partial(write_slots, in_slots, plan.objects.ids, bar=bar)
    try:
        write_whole(files)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    say(f"written: {', '.join(map(str, files))}")
