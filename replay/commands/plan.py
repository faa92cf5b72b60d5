"""`bestbefore plan`: how often, when and by whom each object is contacted, within a budget."""

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.errors import InputError
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.validation.machinery.spec import parse_duration
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.progress import bar, open_watched, spinner
from bestbefore.replay.planning.drawing import drawing
from bestbefore.replay.planning.learnt import learnt
from bestbefore.replay.planning.moments import Moments, Punctuality, crawls_of
from bestbefore.replay.planning.object_file import read_objects
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan, best_plan
from bestbefore.replay.planning.slotted import Slotted, slotted
from bestbefore.replay.planning.summary import summary
from bestbefore.replay.planning.written import Write, json_parts, write_csv, write_json, write_slots, write_whole
from bestbefore.replay.sweeps.watching import no_bar
from bestbefore.replay.traces.columns.files import read_updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.summary import counted

BOUNDARIES = ("periodic", "interval")
OUT_FORMATS = (".csv", ".json")


def _positive(what: str, read: Callable[[str], float]) -> Callable[..., float]:
    """What reads the value of an option that is finite and above 0."""

    def check(_ctx: click.Context, param: click.Parameter, value: str) -> float:
        try:
            number = math.nan if "_" in value else read(value)
        except ValueError:
            number = math.nan
        if not 0.0 < number < math.inf:
            raise InputError(f"{param.opts[0]} {value}: expected {what} of more than 0")
        return number

    return check


@click.command("plan", short_help="Divide a budget of contacts among objects.")
@file_option("--objects", "objects_path",
             "CSV with the columns id,rate (updates per period) and perhaps weight,min,max,model,shape.")
@file_option("--updates", "updates_path",
             "A trace of updates (object,time) in place of it, from which rates, laws and hours are estimated.")
@click.option("--budget", required=True, callback=_positive("a number of contacts per period", float), metavar="N",
              help="Contacts per period.")
@click.option("--objective", type=click.Choice(list(OBJECTIVES)), required=True,
              help="What is to be best: the share of time in which copies are current, how old they are, or how long "
              "updates wait.")
@click.option("--period", "period_s", default="1d", show_default=True, callback=_positive("a duration", parse_duration),
              metavar="D", help="The unit of rates and budget: s, m, h, d.")
@click.option("--discrete", is_flag=True, help="Whole numbers of contacts in each period, with moments for them.")
@click.option("--boundary", type=click.Choice(BOUNDARIES),
              help="With --discrete: the plan repeats (periodic, the default), or all copies are current when it "
              "begins (interval).")
@click.option("--crawlers", type=click.IntRange(min=1), metavar="C", help="With --discrete: who makes the contacts,")
@click.option("--slots", type=click.IntRange(min=1), metavar="S", help="each in so many slots in a period.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON in place of a summary.")
@click.option("--out", "out_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the plan to this file, .csv or .json, and a drawing beside it.")
def command(
    objects_path: Path | None,
    updates_path: Path | None,
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
    """Divide a budget of contacts among objects so that their copies are as fresh, or as young, as can be.

    Objects come with their rates of change from a file, or from a trace of their updates. With --live it is another
    command, which shows what a proxy plans: see `bestbefore plan --live --help`.
    """
    _refuse_what_does_not_fit(discrete=discrete, boundary=boundary, crawlers=crawlers, slots=slots, out_path=out_path)
    aim = Aim(objective, budget, period_s, discrete, "interval" if boundary == "interval" else "periodic")
    try:
        objects, source = _objects(objects_path, updates_path, aim)
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
            _say("JSON has no slots: --out FILE writes which contact is in which, beside the plan")
        for part in json_parts(plan, no_bar if sys.stdout.isatty() else bar):
            click.echo(part, nl=False)
        return
    with spinner("comparing with other plans"):
        told = summary(plan, punctuality, in_slots)
    click.echo(told)


def _refuse_what_does_not_fit(
    *, discrete: bool, boundary: str | None, crawlers: int | None, slots: int | None, out_path: Path | None
) -> None:
    if boundary is not None and not discrete:
        raise InputError("--boundary is that of whole numbers of contacts: expected --discrete too")
    if (crawlers is None) != (slots is None):
        raise InputError("--crawlers and --slots go together: expected both or neither")
    if crawlers is not None and not discrete:
        raise InputError("--crawlers and --slots take whole numbers of contacts: expected --discrete too")
    if out_path is not None and out_path.suffix not in OUT_FORMATS:
        raise InputError(f"--out {out_path}: expected a name that ends in {' or '.join(OUT_FORMATS)}")


def _objects(objects_path: Path | None, updates_path: Path | None, aim: Aim) -> tuple[PlannedObjects, Path]:
    """What is planned for, and the file it comes from. Raises TraceError and ValueError."""
    if objects_path is not None and updates_path is None:
        return read_objects(objects_path, open_watched), objects_path
    if updates_path is None or objects_path is not None:
        raise InputError("expected either --objects FILE or --updates FILE")
    with spinner(f"reading {updates_path.name}"):
        updates = read_updates(updates_path, _warn)
    if not len(updates):
        raise TraceError(f"{updates_path}: no update, expected some that show how often objects change")
    with_laws = aim.discrete and aim.objective == "freshness"
    objects = learnt(updates, aim.period_s, with_laws=with_laws, bar=bar)
    first, last = utc(float(updates.times_s[0])), utc(float(updates.times_s[-1]))
    _say(
        f"{updates_path}: {counted(len(updates), 'update')} of {counted(len(objects), 'object')} from {first} to "
        f"{last}; each is taken to be observed from its first update to the end"
    )
    return objects, updates_path


def _plan(objects: PlannedObjects, aim: Aim, source: Path) -> ContactPlan:
    try:
        return best_plan(objects, aim)
    except RowError as error:
        where = f"id {objects.ids[error.row]!r}" if objects.lines is None else f"line {objects.lines[error.row]}"
        raise TraceError(f"{source}: {where}: {error.problem}") from None


def _timed(
    plan: ContactPlan, crawlers: int | None, slots: int | None
) -> tuple[Moments, Punctuality | None, Slotted | None]:
    """When each object is contacted, and in which slots."""
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
    """The plan, its drawing, and who makes each contact, beside each other."""
    with spinner("drawing"):
        picture = drawing(plan)
    files: dict[Path, Write] = {
        path: partial(write_csv, plan, moments, bar=bar) if path.suffix == ".csv"
        else partial(write_json, plan, bar=bar),
        path.with_suffix(".svg"): lambda file: file.writelines([picture]),
    }
    if in_slots is not None:
        files[path.with_suffix(".slots.csv")] = partial(write_slots, in_slots, plan.objects.ids, bar=bar)
    try:
        write_whole(files)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    _say(f"written: {', '.join(map(str, files))}")


def _warn(message: str) -> None:
    _say(f"warning: {message}")


def _say(message: str) -> None:
    click.echo(f"bestbefore plan: {message}", err=True)
