"""Table II and Figure 9: the orders of synchronisation, in closed form and simulated."""

import numpy as np
from scipy.optimize import brentq

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.replay.papers.agreement import Agreement, bound, value
from bestbefore.replay.papers.printed import HEADS, beside
from bestbefore.replay.papers.refresh.synchronisation import Order, Simulated, age, freshness, simulate
from bestbefore.replay.report.page import Page

RATIOS = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)
ELEMENTS, SWEEPS, SEED = 1000, 300, 2003
DRAWN_UP_TO = 5.0
FURTHEST_ERRORS = 3.5
"""The furthest of 36 values from its formula, in standard errors, with probability below 2 per cent."""


def simulations() -> dict[tuple[Order, float], Simulated]:
    """Simulate each order at each ratio, from one seeded generator."""
    rng = np.random.default_rng(SEED)
    return {(order, ratio): simulate(order, ratio, ELEMENTS, SWEEPS, rng) for order in Order for ratio in RATIOS}


def furthest(found: dict[tuple[Order, float], Simulated]) -> float:
    """The largest distance between closed form and simulation, in standard errors."""
    return max(
        max(
            abs(one.freshness - freshness(order, ratio)) / one.freshness_error,
            abs(one.age - age(order, ratio)) / one.age_error,
        )
        for (order, ratio), one in found.items()
    )


def ratio_for(least_freshness: float) -> float:
    """The ratio of changes to synchronisations at which `fixed` has this freshness."""
    return float(brentq(lambda ratio: freshness(Order.FIXED, ratio) - least_freshness, 0.0, 1e6))


def write(page: Page) -> list[Agreement]:
    """Write the sections on orders."""
    found = simulations()
    page.section("Table II: freshness and age of the synchronisation orders")
    page.text(
        f"""The table prints formulas, no values. Here they are evaluated (`replay/papers/refresh/synchronisation.py`)
        and compared with a simulation of what they describe: {ELEMENTS:,} elements with Poisson changes, synchronised
        in {SWEEPS} sweeps of as many steps, seed {SEED}. The ratio r is changes over synchronisations; age is in
        units of the mean time between synchronisations; ± is one standard error. Of these {2 * len(found)} values the
        furthest is {furthest(found):.1f} standard errors from its formula."""
    )
    page.table(
        ("order", "r", "freshness, formula", "simulated", "age, formula", "simulated"),
        [
            (
                order.value, f"{ratio:g}",
                f"{freshness(order, ratio):.4f}", f"{one.freshness:.4f} ± {one.freshness_error:.4f}",
                f"{age(order, ratio):.4f}", f"{one.age:.4f} ± {one.age_error:.4f}",
            )
            for (order, ratio), one in found.items()
        ],
    )
    page.section("Figure 9: freshness and age of the orders")
    ratios = np.linspace(0.0, DRAWN_UP_TO, 101).tolist()
    for name, measure in (("freshness", freshness), ("age", age)):
        lines = [Line(order.value, [(ratio, measure(order, ratio)) for ratio in ratios]) for order in Order]
        scale = Scale("freshness" if name == "freshness" else "age, in mean times between synchronisations")
        drawing = drawn(lines, Scale("r = changes / refreshes"), scale)
        page.figure(f"9_{name}", f"Figure 9: {name} of the orders", drawing)
    return [
        bound("Table II", f"the formulas, furthest of {2 * len(found)} simulated values, standard errors",
              furthest(found), most=FURTHEST_ERRORS, digits=1),
        *_statements(page),
    ]


def _statements(page: Page) -> list[Agreement]:
    fixed, _, any_element = (freshness(order, 1.0) for order in Order)
    fixed_age, random_age, any_age = (age(order, 1.0) for order in Order)
    more = 100.0 * (fixed / any_element - 1.0)
    judged = [
        ("section 4.4", "fixed order, r = 1: freshness (e-1)/e", "0.63", fixed),
        ("section 4.4", "the same over purely random, in per cent more", "30", more),
        ("section 4.4", "r = 1: age of fixed order over that of random order", "0.25", fixed_age / random_age),
        ("section 7.3", "fixed order: freshness 0.8 needs r below", "0.46", ratio_for(0.8)),
    ]
    page.text("What section 4.4 and 7.3 say of the figure:")
    rows = [(what, *beside(printed, ours)) for _, what, printed, ours in judged]
    page.table(
        ("statement", *HEADS),
        [*rows, ("r = 1: age of fixed order over that of purely random", "–", f"{fixed_age / any_age:.3f}", "–")],
    )
    page.text(
        f"""By the paper's own formulas the ages at r = 1 are {fixed_age:.3f} (fixed), {random_age:.3f} (random) and
        {any_age:.3f} (purely random): fixed order has {fixed_age / random_age:.2f} of the age of random order and
        {fixed_age / any_age:.2f} of that of the purely random one."""
    )
    return [value(*one) for one in judged]
