"""`bestbefore plan`: plan the number, times and slots of contacts with objects within a budget."""

import sys
from functools import partial
from pathlib import Path

import click
import numpy as np

from bestbefore.addon.admin.units import utc
from bestbefore.addon.errors import InputError
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.validation.machinery.spec import parse_duration
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.number_option import is_positive, number
from bestbefore.replay.commands.progress import bar, open_watched, spinner
from bestbefore.replay.planning.drawing import drawing
from bestbefore.replay.planning.moments import Moments, Punctuality, crawls_of
from bestbefore.replay.planning.object_file import read_objects
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan, best_plan
from bestbefore.replay.planning.plan_files import Write, json_parts, write_csv, write_slots, write_whole
from bestbefore.replay.planning.slotted import Slotted, slotted
from bestbefore.replay.planning.summary import summary
from bestbefore.replay.planning.trace_objects import learnt
from bestbefore.replay.sweeps.progress import no_bar
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.summary import counted

BOUNDARIES = ("periodic", "interval")
OUT_FORMATS = (".csv", ".json")


@click.command("plan", short_help="Plan contacts within a budget.")
@file_option("--objects", "objects_path",
             "CSV file with the columns id,rate (updates per period); optional: weight,min,max (contacts per "
             "period),model,shape.")
@file_option("--updates", "updates_path",
             "Instead of --objects: CSV file with the columns object,time (Unix seconds), or .npz or Parquet, from "
             "which rates are estimated.")
@file_option("--requests", "requests_path",
             "CSV file with the columns client,object,time, or .npz or Parquet: weights are multiplied by the requests "
             "(clicks) for each object, so that the fewest get an outdated answer.")
@click.option("--budget", required=True, metavar="N",
              callback=number("a number of contacts per period of more than 0", is_positive),
              help="Contacts per period, a number above 0.")
@click.option("--objective", type=click.Choice(list(OBJECTIVES)), required=True,
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
@click.option("--slots", type=click.IntRange(min=1), metavar="N",
              help="With --discrete and --crawlers: number of slots per period and crawler.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON instead of a summary.")
@click.option("--out", "out_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the plan to this file (.csv or .json), and a chart beside it (.svg).")
def command(
    objects_path: Path | None,
    updates_path: Path | None,
    requests_path: Path | None,
    budget: float,
    objective: str,
    period_s: float,
    boundary: str | None,
    crawlers: int | None,
    slots: int | None,
    out_path: Path | None,
    *,
    discrete: bool,
    as_json: bool,
) -> None:
    """Divide a budget of contacts among objects to optimise freshness, age or delay.

    The rates of change are read from a file or estimated from a trace of updates. With --live, show the plan of a
    proxy instead: see `bestbefore plan --live --help`.
    """
    _refuse_what_does_not_fit(discrete=discrete, boundary=boundary, crawlers=crawlers, slots=slots, out_path=out_path)
    aim = Aim(objective, budget, period_s, discrete, "interval" if boundary == "interval" else "periodic")
    try:
        objects, source = _objects(objects_path, updates_path, aim)
        if requests_path is not None:
            objects = _weighted(objects, requests_path)
        with spinner("planning"):
            plan = _plan(objects, aim, source)
            plan.mean(objective)
        moments, punctuality, in_slots = None, None, None
        if out_path is not None or crawlers is not None or (objects.hourly is not None and not as_json):
            moments, punctuality, in_slots = _timed(plan, crawlers, slots)
    except TraceError as error:
        raise InputError(str(error)) from None
    except ValueError as error:
        raise InputError(f"{objects_path or updates_path}: {error}") from None
    if out_path is not None and moments is not None:
        _write(plan, moments, in_slots, out_path)
    if as_json:
        if in_slots is not None and out_path is None:
            say("JSON has no slots: --out FILE writes which contact is in which, beside the plan")
        for part in json_parts(plan, no_bar if sys.stdout.isatty() else bar):
            click.echo(part, nl=False)
        return
    with spinner("comparing with other plans"):
        text = summary(plan, punctuality, in_slots)
    click.echo(text)


def _refuse_what_does_not_fit(
    *, discrete: bool, boundary: str | None, crawlers: int | None, slots: int | None, out_path: Path | None
) -> None:
    if boundary is not None and not discrete:
        raise InputError("--boundary needs --discrete")
    if (crawlers is None) != (slots is None):
        raise InputError("--crawlers and --slots need each other: give both or neither")
    if crawlers is not None and not discrete:
        raise InputError("--crawlers and --slots need --discrete")
    if out_path is not None and out_path.suffix not in OUT_FORMATS:
        raise InputError(f"--out {out_path}: expected a name that ends in {' or '.join(OUT_FORMATS)}")


def _objects(objects_path: Path | None, updates_path: Path | None, aim: Aim) -> tuple[PlannedObjects, Path]:
    """Return the objects of the plan and their file. Raises TraceError and ValueError."""
    if objects_path is not None and updates_path is None:
        return read_objects(objects_path, open_watched), objects_path
    if updates_path is None or objects_path is not None:
        raise InputError("expected either --objects FILE or --updates FILE")
    with spinner(f"reading {updates_path.name}"):
        updates = read_updates(updates_path, warn)
    if not len(updates):
        raise TraceError(f"{updates_path}: no update, expected some that show how often objects change")
    with_laws = aim.discrete and aim.objective == "freshness"
    objects = learnt(updates, aim.period_s, with_laws=with_laws, bar=bar)
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


def _plan(objects: PlannedObjects, aim: Aim, source: Path) -> ContactPlan:
    try:
        return best_plan(objects, aim)
    except RowError as error:
        where = f"id {objects.ids[error.row]!r}" if objects.lines is None else f"line {objects.lines[error.row]}"
        raise TraceError(f"{source}: {where}: {error.problem}") from None


def _timed(
    plan: ContactPlan, crawlers: int | None, slots: int | None
) -> tuple[Moments, Punctuality | None, Slotted | None]:
    """Return the times of contacts, their mean delays if daily patterns are used, and their slots if there are any."""
    if not plan.aim.discrete:
        return Moments.spaced(plan), None, None
    objects, period_s = plan.objects, plan.aim.period_s
    crawls, punctuality = crawls_of(plan, bar)
    if crawlers is None or slots is None:
        return Moments.of(crawls, crawls.at_s, len(objects), period_s), punctuality, None
    with spinner("assigning slots"):
        in_slots = slotted(crawls, objects.ids, crawlers, slots, period_s)
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
