"""The chart of a plan: the contacts of each object against its updates, per period."""

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.plan import BASELINES, ContactPlan, baseline_frequencies
from bestbefore.replay.planning.summary import period_shown

MOST_POINTS = 400
"""The most objects that are drawn, selected evenly by their rates."""
BELOW = 3.0
"""Objects without a contact are drawn below the least number of contacts, at this ratio."""
REACH, LEAST = 1e-30, 1e-290
"""The least value drawn, as a share of the largest and absolutely, so that ratios stay within float64."""


def drawing(plan: ContactPlan) -> str:
    """The chart as SVG, without objects that never change. Baselines are drawn in real numbers, as smooth curves."""
    rates = plan.objects.rates
    rows = np.flatnonzero(rates > 0.0)
    rows = rows[np.argsort(rates[rows], kind="stable")]
    if rows.size > MOST_POINTS:
        rows = rows[np.linspace(0, rows.size - 1, MOST_POINTS).astype(np.intp)]
    own, shown = _in_reach(plan.contacts[rows]), _in_reach(rates[rows])
    others = {name: _in_reach(baseline_frequencies(name, plan)[rows]) for name in BASELINES}
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
    """Raise positive values to the least value drawn; 0 stays 0."""
    least = max(float(values.max(initial=0.0)) * REACH, LEAST)
    raised: FloatArray = np.where(values > 0.0, np.maximum(values, least), 0.0)
    return raised


def _points(rates: FloatArray, contacts: FloatArray, which: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(rates[which].tolist(), contacts[which].tolist(), strict=True))
