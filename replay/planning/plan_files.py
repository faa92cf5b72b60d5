"""The output of a plan: CSV files, written atomically, and the printed JSON."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np

from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.laws import name_of, shape_of
from bestbefore.replay.planning.moments import Moments
from bestbefore.replay.planning.plan import ContactPlan
from bestbefore.replay.planning.slotted import COLUMNS, Slotted
from bestbefore.replay.sweeps.progress import Bar, no_bar
from bestbefore.replay.whole_file import naming, whole_file

Write = Callable[[TextIO], None]


def json_parts(plan: ContactPlan, bar: Bar = no_bar) -> Iterator[str]:
    """Yield the parts of `{"objective": sum(w F)/sum(w), "rates": {id: f}}`; "visits" for whole numbers.

    Age and delay are in periods; null if infinite. The progress bar counts the parts.
    """
    objective = plan.mean(plan.aim.objective)
    shown = json.dumps(objective if math.isfinite(objective) else None)
    yield f'{{"objective": {shown}, "{"visits" if plan.aim.discrete else "rates"}": {{'
    with bar("writing", plan.objects.ids.number_of_parts) as watch:
        for rows, names in watch(plan.objects.ids.parts()):
            contacts = plan.contacts[rows]
            values = (contacts.astype(np.int64) if plan.aim.discrete else contacts).tolist()
            yield (", " if rows.start else "") + json.dumps(dict(zip(names, values, strict=True)))[1:-1]
    yield "}}\n"


def write_csv(plan: ContactPlan, moments: Moments, file: TextIO, bar: Bar = no_bar) -> None:
    """Write a row for each object; unknown and infinite values are empty. Times are in seconds."""
    aim, objects = plan.aim, plan.objects
    period_s = aim.period_s
    columns: dict[str, FloatArray] = {
        "rate": objects.rates,
        "weight": objects.weights,
        "visits" if aim.discrete else "frequency": plan.contacts,
        "interval_s": plan.interval_s,
        "freshness": plan.values("freshness"),
        "age_s": plan.values("age") * period_s,
        "delay_s": _each_delay(plan) * period_s,
        "first_s": moments.first_s,
        "next_s": moments.next_s,
    }
    if objects.misfit is not None:
        columns["misfit"] = objects.misfit
    modelled = bool(objects.laws) or objects.misfit is not None
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", *columns, *(("model", "shape") if modelled else ())])
    with bar("writing", objects.ids.number_of_parts) as watch:
        for rows, names in watch(objects.ids.parts()):
            numbers = [map(_shown, values[rows].tolist()) for values in columns.values()]
            laws = [objects.laws.get(row) for row in range(rows.start, rows.stop)] if modelled else []
            models = [map(name_of, laws), map(_shown, map(shape_of, laws))] if modelled else []
            writer.writerows(zip(names, *numbers, *models, strict=True))


def _each_delay(plan: ContactPlan) -> FloatArray:
    """(n,) the mean delay of one update of each object, in periods."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(plan.objects.rates > 0.0, plan.values("delay") / plan.objects.rates, np.nan)


def _shown(value: float) -> str | float | int:
    if not math.isfinite(value):
        return ""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def write_whole(files: Mapping[Path, Write]) -> None:
    """Write all files or none: each is complete before the first one is renamed. Raises OSError with a file name."""
    with ExitStack() as stack:
        opened = [(write, path, stack.enter_context(whole_file(path))) for path, write in files.items()]
        for write, path, file in opened:
            with naming(path), TextIOWrapper(file, encoding="utf-8", newline="") as text:
                write(text)


def write_slots(slotted: Slotted, ids: Ids, file: TextIO, bar: Bar = no_bar) -> None:
    """Write a row for each contact with its crawler and slot."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    with bar("writing slots", slotted.crawls.rows.size) as watch:
        writer.writerows(watch(slotted.rows(ids)))
