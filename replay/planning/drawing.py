"""A plan as a drawing: how often each object is contacted against how often it changes."""

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.plan import RIVALS, ContactPlan, rival_frequencies
from bestbefore.replay.planning.summary import period_shown

MOST_POINTS = 400
"""Objects that are drawn, evenly among all by their rates."""
BELOW = 3.0
"""Objects without a contact are drawn by this factor below the least number of contacts."""
REACH, LEAST = 1e-30, 1e-290
"""Numbers below this share of the largest, or below the least, are drawn there, so that ratios stay within float64."""


def drawing(plan: ContactPlan) -> str:
    """An SVG file; objects that never change are left out. Rivals are in real numbers, as whole ones would jump."""
    rates = plan.objects.rates
    rows = np.flatnonzero(rates > 0.0)
    rows = rows[np.argsort(rates[rows], kind="stable")]
    if rows.size > MOST_POINTS:
        rows = rows[np.linspace(0, rows.size - 1, MOST_POINTS).astype(np.intp)]
    own, shown = _in_reach(plan.contacts[rows]), _in_reach(rates[rows])
    others = {name: _in_reach(rival_frequencies(name, plan)[rows]) for name in RIVALS}
    positive = np.concatenate([values[values > 0.0] for values in (own, *others.values())])
    at_floor = np.full(own.size, float(positive.min(initial=BELOW)) / BELOW)
    lines = [Line(name, _points(shown, values, values > 0.0)) for name, values in others.items()]
    lines += [
        Line(name, points, joined=False, marked=True)
        for name, points in (
            (f"this plan, for {plan.aim.objective}", _points(shown, own, own > 0.0)),
            ("without a contact, at the lower edge", _points(shown, at_floor, own == 0.0)),
        )
    ]
    lines = [line for line in lines if line.points] or [Line("no object changes", [(1.0, 1.0)])]
    period = period_shown(plan.aim.period_s)
    return drawn(
        lines,
        Scale(f"updates per {period}", logarithmic=True),
        Scale(f"contacts per {period}", logarithmic=True),
    )


def _in_reach(values: FloatArray) -> FloatArray:
    """The values, none of them negative; 0 stays 0."""
    least = max(float(values.max(initial=0.0)) * REACH, LEAST)
    raised: FloatArray = np.where(values > 0.0, np.maximum(values, least), 0.0)
    return raised


def _points(rates: FloatArray, contacts: FloatArray, which: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(rates[which].tolist(), contacts[which].tolist(), strict=True))
