"""Tables IV and V, Figures 11 and 13: the optimal refreshes of two small databases, and their curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.table import Allocate
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, value
from bestbefore.replay.papers.printed import HEADS, beside, rows_beside
from bestbefore.replay.report.page import Page


class Goal(NamedTuple):
    """The goal that is optimised."""

    name: str
    allocate: Allocate
    printed: tuple[str, ...]
    """The refreshes that the paper prints for it."""
    gain: Callable[[FloatArray], FloatArray]
    """At r: lambda^p times what one more refresh gains an element of weight 1."""
    power: int
    """p. A weight scales the curve by its p-th root."""


def freshness_gain(r: FloatArray) -> FloatArray:
    """lambda dF/df = 1 - (1+r) e^-r (the proof of theorem 5.5)."""
    return 1.0 - (1.0 + r) * np.exp(-r)


def age_gain(r: FloatArray) -> FloatArray:
    """-lambda^2 dA/df = r^2/2 - 1 + (1+r) e^-r, from the age of section 4.1."""
    return r**2 / 2.0 - freshness_gain(r)


@dataclass(frozen=True, slots=True)
class Example:
    """A database of the examples."""

    table: str
    figure: str
    number: str
    names: tuple[str, ...]
    rates: tuple[float, ...]
    weights: tuple[float, ...]
    budget: float
    goals: tuple[Goal, Goal]

    def refreshes(self, goal: Goal) -> list[float]:
        """Return the optimal refreshes per day of each element."""
        return list(map(float, goal.allocate(self.rates, self.weights, self.budget)))

    def multiplier(self, goal: Goal) -> float:
        """Return the gain of one more refresh a day, equal for all refreshed elements."""
        gains = [
            float(weight / rate**goal.power * goal.gain(np.array(rate / refreshes)))
            for rate, weight, refreshes in zip(self.rates, self.weights, self.refreshes(goal), strict=True)
            if refreshes > 0.0
        ]
        return sum(gains) / len(gains)


EXAMPLE_5_4 = Example(
    "Table IV", "11", "5.4", ("e1", "e2", "e3", "e4", "e5"), (1, 2, 3, 4, 5), (1,) * 5, 5.0,
    (
        Goal("freshness", continuous.freshness, ("1.15", "1.36", "1.35", "1.14", "0.00"), freshness_gain, 1),
        Goal("age", continuous.age, ("0.84", "0.97", "1.03", "1.07", "1.09"), age_gain, 2),
    ),
)
EXAMPLE_6_2 = Example(
    "Table V", "13", "6.2", ("e11", "e12", "e13", "e21", "e22", "e23"), (1, 2, 3) * 2, (1, 1, 1, 2, 2, 2), 6.0,
    (
        Goal("freshness", continuous.freshness, ("0.78", "0.76", "0.00", "1.28", "1.56", "1.62"), freshness_gain, 1),
        Goal("age", continuous.age, ("0.76", "0.88", "0.94", "0.99", "1.17", "1.26"), age_gain, 2),
    ),
)


def curve(goal: Goal, multiplier: float, weight: float, most_rate: float) -> list[tuple[float, float]]:
    """The points (lambda, f) with w dF/df = multiplier (or the same for age), up to `most_rate`."""
    r = np.geomspace(1e-3, 1e3, 2001)
    rates = (weight * goal.gain(r) / multiplier) ** (1.0 / goal.power)
    some = rates <= most_rate
    return list(zip(rates[some].tolist(), (rates[some] / r[some]).tolist(), strict=True))


def peak() -> tuple[float, float]:
    """Return the maximum (lambda, f) of the freshness curve for multiplier 1."""
    r = np.linspace(1.0, 3.0, 200_001)
    refreshes = freshness_gain(r) / r
    best = int(refreshes.argmax())
    return float(refreshes[best] * r[best]), float(refreshes[best])


def write(page: Page) -> list[Agreement]:
    """Write the sections of both examples."""
    agreements = []
    for example in (EXAMPLE_5_4, EXAMPLE_6_2):
        page.section(f"{example.table} and Figure {example.figure}: the best refreshes of Example {example.number}")
        page.text(f"By `policies/prefetch/allocation`, in refreshes per day, {example.budget:g} together.")
        for goal in example.goals:
            what = [
                f"{name}: {rate:g} changes a day, weight {weight:g}"
                for name, rate, weight in zip(example.names, example.rates, example.weights, strict=True)
            ]
            refreshes = example.refreshes(goal)
            rows = rows_beside(what, goal.printed, refreshes)
            agreements += [
                value(example.table, f"refreshes of {name} for {goal.name}", printed, ours)
                for name, printed, ours in zip(example.names, goal.printed, refreshes, strict=True)
            ]
            page.table((f"for {goal.name}", *HEADS), rows)
            page.figure(
                f"{example.figure}_{goal.name}",
                f"Figure {example.figure}: best refreshes of Example {example.number} for {goal.name}",
                drawn(_lines(example, goal), Scale("changes per day"), Scale("refreshes per day")),
            )
    page.text(
        """The points are the allocations, the lines the curves of section 5.4 through them, scaled by the
        weight for freshness (theorem 6.3) and by its root for age (theorem 6.4). Those for freshness return to 0: an
        element that changes too often is not refreshed."""
    )
    highest = list(zip(("changes", "refreshes"), ("0.53", "0.3"), peak(), strict=True))
    page.table(
        ("highest point of the freshness curve for multiplier 1 (section 5.4)", *HEADS),
        [(what, *beside(printed, ours)) for what, printed, ours in highest],
    )
    return [
        *agreements,
        *(value("section 5.4", f"highest point of the curve, {what}", asked, ours) for what, asked, ours in highest),
    ]


def _lines(example: Example, goal: Goal) -> list[Line]:
    multiplier = example.multiplier(goal)
    refreshes = example.refreshes(goal)
    weights: Sequence[float] = sorted(set(example.weights))
    lines = [
        Line(f"weight {weight:g}", curve(goal, multiplier, weight, 1.1 * max(example.rates))) for weight in weights
    ]
    points = [
        Line(
            f"elements of weight {weight:g}",
            [(rate, f) for rate, w, f in zip(example.rates, example.weights, refreshes, strict=True) if w == weight],
            joined=False, marked=True, of=number,
        )
        for number, weight in enumerate(weights)
    ]
    return [*lines, *points]
