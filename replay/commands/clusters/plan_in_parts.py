"""`bestbefore plan --objects FOLDER`: the plan of objects in parts, out of core, on several processes or machines."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import opened_cluster
from bestbefore.replay.commands.messages import say
from bestbefore.replay.commands.progress import spinner
from bestbefore.replay.planning.inputs.closed_file import read_closed
from bestbefore.replay.planning.parted.part_files import MapOver, part_paths
from bestbefore.replay.planning.parted.parted_plan import PartedObjects
from bestbefore.replay.planning.parted.parted_slots import CrawlerSlots
from bestbefore.replay.planning.plan import BASELINES, Aim
from bestbefore.replay.planning.summary import period_shown, slots_shown, unused_shown, waited_shown
from bestbefore.replay.planning.target import PlanTarget
from bestbefore.replay.report.formatting import aligned
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError

SLOTS_NEED_OUT = "JSON has no slots: --out writes which contact is in which, beside the plan"
MEASURES = ("freshness", "age", "delay")


@dataclass(frozen=True, slots=True)
class PartFolders:
    """Where parts are read, and where their plans are written."""

    folder: Path
    jobs: int
    on: str | None
    out: Path | None
    """A new or empty folder, or None."""
    interval_s: float | None = None
    """The least mean time between two contacts with the objects of one owner."""
    slots: Sequence[int] = ()
    """The number of slots of each crawler; none: without slots."""
    closed_path: Path | None = None
    """The file of closed times."""


def plan_in_parts(where: PartFolders, aim: Aim, target: PlanTarget | None, *, as_json: bool) -> None:
    """Plan the objects in the parts of a folder, write the plan of each part, and print a summary or JSON."""
    if where.out is not None:
        _prepare(where.out)
    try:
        paths, slots = part_paths(where.folder), _slots(where)
        with _mapped(where) as map_:
            with spinner(f"reading {len(paths)} parts"):
                most = None if where.interval_s is None else aim.period_s / where.interval_s
                objects = PartedObjects(where.folder, paths, map_, most)
            _plan(objects, where, aim, target, slots, as_json=as_json)
    except (TraceError, ValueError) as error:
        text = str(error)
        raise InputError(text if isinstance(error, TraceError) else f"{where.folder}: {text}") from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None


def _prepare(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise InputError(f"--out {out}: expected a new or empty folder, for the plan of each part")
    except OSError as error:
        raise InputError(f"--out {out}: {error.strerror}: expected a new or empty folder") from None


@contextmanager
def _mapped(where: PartFolders) -> Iterator[MapOver]:
    if where.on is None and where.jobs == 1:
        yield partial(parallel_map, jobs=1)
        return
    with opened_cluster(where.on, where.jobs) as cluster:
        yield cluster.map


def _slots(where: PartFolders) -> CrawlerSlots | None:
    """Return the slots of crawlers, if any are given. Raises TraceError and ValueError."""
    if not where.slots:
        return None
    closed = [] if where.closed_path is None else read_closed(where.closed_path, len(where.slots))
    slots = CrawlerSlots(where.slots, closed)
    slots.refuse_objects()
    return slots


def _plan(
    objects: PartedObjects, where: PartFolders, aim: Aim, target: PlanTarget | None, slots: CrawlerSlots | None, *,
    as_json: bool,
) -> None:
    period_s, budget = aim.period_s, aim.budget
    with spinner("planning"):
        boundary = aim.boundary
        divide = objects.divide_whole(aim.objective, boundary) if aim.discrete else objects.divide(aim.objective)
        if target is not None:
            budget = objects.budget_for(target, divide, period_s, boundary, discrete=aim.discrete)
        division = divide(budget)
        means = objects.means(division, MEASURES, boundary)
    if target is not None:
        say(f"{target} needs {budget:,.6g} contacts per {period_shown(period_s)}")
    with spinner("assigning slots"):
        assigned = None if slots is None else objects.slotted(division, slots, period_s, boundary)
    result = {
        "objects": objects.totals.objects, "parts": len(objects.parts), "budget": budget,
        "contacts": means["contacts"], "objective": aim.objective,
        **{name: means[name] if math.isfinite(means[name]) else None for name in MEASURES},
    }
    if where.out is not None:
        with spinner("writing"):
            objects.write(division, where.out, period_s, boundary, slots, () if assigned is None else assigned[1])
            (where.out / "plan.json").write_text(json.dumps({**result, "period_s": period_s}) + "\n")
        say(f"written: {len(objects.parts)} parts and plan.json in {where.out}")
    if as_json:
        if assigned is not None and where.out is None:
            say(SLOTS_NEED_OUT)
        click.echo(json.dumps({**result, "rounds": objects.files.rounds}))
        return
    with spinner("comparing with other plans"):
        others = {name: objects.means(objects.divide(name)(budget), MEASURES, boundary) for name in BASELINES}
    unused = unused_shown(budget, means["contacts"], limited=where.interval_s is not None)
    click.echo(_summary(objects, aim, f"{budget:,.6g}", unused, {"this plan": means, **others}))
    if assigned is not None:
        click.echo("\n".join(["", *slots_shown(assigned[0])]))


def _summary(
    objects: PartedObjects, aim: Aim, budget: str, unused: str, found: Mapping[str, Mapping[str, float]]
) -> str:
    period, totals = period_shown(aim.period_s), objects.totals
    head = (
        f"{totals.objects:,} objects in {len(objects.parts):,} parts with {totals.updates:,.6g} updates per {period}; "
        f"{budget} contacts per {period}{unused}; planned for {aim.objective}"
        + (f" in whole numbers, boundary {aim.boundary}" if aim.discrete else "")
    )
    rows = [
        [name, f"{mean['freshness']:.4g}", *(waited_shown(mean[which] * aim.period_s) for which in ("age", "delay"))]
        for name, mean in found.items()
    ]
    table = aligned([["", *MEASURES], *rows], words=1)
    return "\n".join([head, "", *table])
