"""A plan as a drawing: how often each object is contacted against how often it changes."""

import numpy as np

from bestbefore.policies.prefetch.cubics import FloatArray
from bestbefore.replay.papers.lines import Line, Scale, drawn
from bestbefore.replay.planning.plan import RIVALS, Plan, rival
from bestbefore.replay.planning.summary import period_shown

MOST_POINTS = 1500
"""Objects that are drawn, evenly among all by their rates."""
BELOW = 3.0
"""Objects without a contact are drawn by this factor below the least number of contacts."""


def drawing(plan: Plan) -> str:
    """An SVG file; objects that never change are left out. Without any that change, an empty chart."""
    rates = plan.objects.rates
    rows = np.flatnonzero(rates > 0.0)
    rows = rows[np.argsort(rates[rows], kind="stable")]
    rows = rows[np.unique(np.linspace(0, max(rows.size - 1, 0), MOST_POINTS).astype(np.intp))] if rows.size else rows
    own = plan.contacts[rows]
    contacts = {name: rival(name, plan).contacts[rows] for name in RIVALS}
    positive = np.concatenate([own[own > 0.0], *(values[values > 0.0] for values in contacts.values())])
    floor = float(positive.min()) / BELOW if positive.size else 1.0
    at_floor = np.full(own.size, floor)
    lines = [
        Line(name, points, joined=False, marked=True)
        for name, points in (
            (f"this plan, for {plan.aim.objective}", _points(rates[rows], own, own > 0.0)),
            ("without a contact, at the lower edge", _points(rates[rows], at_floor, own == 0.0)),
        )
    ]
    lines += [Line(name, _points(rates[rows], values, values > 0.0)) for name, values in contacts.items()]
    lines = [line for line in lines if line.points] or [Line("no object changes", [(1.0, 1.0)])]
    period = period_shown(plan.aim.period_s)
    return drawn(
        lines,
        Scale(f"updates per {period}", logarithmic=True),
        Scale(f"contacts per {period}", logarithmic=True),
    )


def _points(rates: FloatArray, contacts: FloatArray, which: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(rates[which].tolist(), contacts[which].tolist(), strict=True))
