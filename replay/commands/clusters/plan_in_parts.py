"""`bestbefore plan --objects FOLDER`: the plan of objects in parts, out of core, on several processes or machines."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import opened_cluster
from bestbefore.replay.commands.messages import say
from bestbefore.replay.commands.progress import spinner
from bestbefore.replay.planning.parted.part_files import MapOver, part_paths
from bestbefore.replay.planning.parted.parted_plan import PartedObjects
from bestbefore.replay.planning.plan import BASELINES, Aim
from bestbefore.replay.planning.summary import period_shown, unused_shown, waited_shown
from bestbefore.replay.planning.target import PlanTarget
from bestbefore.replay.report.formatting import aligned
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError

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


def plan_in_parts(where: PartFolders, aim: Aim, target: PlanTarget | None, *, as_json: bool) -> None:
    """Plan the objects in the parts of a folder, write the plan of each part, and print a summary or JSON."""
    if where.out is not None:
        _prepare(where.out)
    try:
        paths = part_paths(where.folder)
        with _mapped(where) as map_:
            with spinner(f"reading {len(paths)} parts"):
                most = None if where.interval_s is None else aim.period_s / where.interval_s
                objects = PartedObjects(where.folder, paths, map_, most)
            _plan(objects, where, aim, target, as_json=as_json)
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


def _plan(objects: PartedObjects, where: PartFolders, aim: Aim, target: PlanTarget | None, *, as_json: bool) -> None:
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
    result = {
        "objects": objects.totals.objects, "parts": len(objects.parts), "budget": budget,
        "contacts": means["contacts"], "objective": aim.objective,
        **{name: means[name] if math.isfinite(means[name]) else None for name in MEASURES},
    }
    if where.out is not None:
        with spinner("writing"):
            objects.write(division, where.out, period_s, boundary)
            (where.out / "plan.json").write_text(json.dumps({**result, "period_s": period_s}) + "\n")
        say(f"written: {len(objects.parts)} parts and plan.json in {where.out}")
    if as_json:
        click.echo(json.dumps({**result, "rounds": objects.files.rounds}))
        return
    with spinner("comparing with other plans"):
        others = {name: objects.means(objects.divide(name)(budget), MEASURES, boundary) for name in BASELINES}
    unused = unused_shown(budget, means["contacts"], limited=where.interval_s is not None)
    click.echo(_summary(objects, aim, f"{budget:,.6g}", unused, {"this plan": means, **others}))


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
