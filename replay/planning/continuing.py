"""The rest of a planned period: what is left of the time, of the budget and of the bounds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.replay.planning.inputs.made_file import MadeContact
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim


def rest_of(
    objects: PlannedObjects, aim: Aim, made: Sequence[MadeContact], now_s: float | None
) -> tuple[PlannedObjects, Aim]:
    """Return the objects and the aim of the rest of the period, which begins at `now_s` or with the last contact made.

    An object without a contact was contacted at the start of the period (boundary `interval`) or one period before it.
    Raises a `RowError` for an object with a law, which has no gains from its last contact on, and a ValueError for
    contacts with other objects or after `now_s`, and if no time or budget is left.
    """
    if objects.laws:
        raise RowError(min(objects.laws), "a model other than poisson is not continued (--made)")
    row_of = {name: rows.start + row for rows, names in objects.ids.parts() for row, name in enumerate(names)}
    now = max((one.at_s for one in made), default=0.0) if now_s is None else now_s
    now = max(now, 0.0)
    last_s = np.full(len(objects), 0.0 if aim.boundary == "interval" else -aim.period_s)
    known, counts = np.zeros(len(objects), dtype=np.bool_), np.zeros(len(objects))
    for one in made:
        row = row_of.get(one.name)
        if row is None:
            raise ValueError(f"a contact was made with {one.name!r}, which is no object of the plan (--made)")
        if one.at_s > now:
            raise ValueError(f"a contact was made with {one.name!r} at {one.at_s:g} s, after {now:g} s (--now)")
        last_s[row] = max(last_s[row], one.at_s) if known[row] else one.at_s
        known[row] = True
        counts[row] += one.at_s >= 0.0
    rest_s, left = aim.period_s - now, aim.budget - float(counts.sum())
    if rest_s <= 0.0:
        raise ValueError(f"nothing is left of the period of {aim.period_s:g} s after {now:g} s (--made, --now)")
    if left <= 0.0:
        raise ValueError(f"the budget is {aim.budget:g}, of which {counts.sum():g} contacts are made (--made)")
    least, most = objects.bounds()
    rest = replace(
        objects,
        rates=objects.rates * (rest_s / aim.period_s),
        minimum=np.maximum(least - counts, 0.0),
        maximum=np.maximum(most - counts, 0.0),
        hourly=None,
        since=(now - last_s) / rest_s,
    )
    return rest, replace(aim, budget=left, period_s=rest_s, begins_s=now)
