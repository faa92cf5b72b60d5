"""Figure 9: staleness against the parameter a of Pareto laws, with a mean and without."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from bestbefore.addon.charts.lines import Scale
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, at_all, bound, in_words
from bestbefore.replay.papers.crawling.curves import show
from bestbefore.replay.papers.crawling.pages import PAGES, pareto_staleness, zipf_rates
from bestbefore.replay.papers.crawling.schemes import in_proportion
from bestbefore.replay.papers.crawling.tables import best_visits_of_tables
from bestbefore.replay.report.page import Page

CRAWLS_PER_PAGE = 2.5
WITH_A_MEAN = (1.05, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)
ALL = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)

FLAT = 0.1
"""The largest relative change of a flat curve."""

Staleness = Callable[[float, FloatArray, FloatArray], FloatArray]
"""(a, rates, intervals in the day) -> A, for arrays that broadcast."""


def at_a_random_moment(a: float, rates: FloatArray, intervals: FloatArray) -> FloatArray:
    """Equation 3: a crawl finds the page at an arbitrary moment. a > 1; the mean time between updates is 1 / rate."""
    return pareto_staleness(a, (a - 1.0) / rates, intervals)


def after_an_update(a: float, rates: FloatArray, intervals: FloatArray) -> FloatArray:
    """The staleness if a crawl follows right after an update: the copy is stale once an interval is over.

    a > 0; the median is ln 2 / rate. 1 - (b / (b+t))^a is the integral in equation 3 for a + 1 and the same b.
    """
    scales = np.log(2.0) / rates / np.expm1(np.log(2.0) / a)
    return pareto_staleness(a + 1.0, scales, intervals)


def values(staleness: Staleness, a: float, pages: int) -> tuple[float, float, float]:
    """The average staleness of the optimal, the proportional and the uniform scheme."""
    rates = zipf_rates(pages, 0.0)
    budget = round(CRAWLS_PER_PAGE * pages)
    best = best_visits_of_tables(
        np.arange(pages), lambda some, intervals: staleness(a, rates[some, None], intervals), np.ones(pages), budget
    )

    def mean(visits: IntArray) -> float:
        return float(staleness(a, rates, visits.astype(np.float64) + 1.0).mean())

    return mean(best), mean(in_proportion(rates, budget)), mean(in_proportion(np.ones(pages), budget))


def write(page: Page) -> list[Agreement]:
    """Write the section on heavy tails."""
    page.section("Figure 9: Pareto example")
    page.text(
        f"""The paper plots a from 0 to 4 at an unnamed number of crawls (here {CRAWLS_PER_PAGE} per page, rates by
        Zipf's law). It finds staleness flat from 4 towards 2 and rising ever more steeply towards 0. But a Pareto law
        with a <= 1 has no mean, hence no rate and no equation 3; and where there is one, **equation 3 falls** as a
        tends to 1: with the mean kept, most time lies in few very long intervals without an update, and a crawl at an
        arbitrary moment most probably falls into one of them. So two things are plotted:""",
    )
    page.items(
        "*at a random moment*: equation 3 for a > 1, each page's mean time between updates kept at 1 / rate;",
        """*after an update*: the copy begins with an interval (equation 2 with no time passed since the last update, so
        that the staleness is G(t) itself), which needs no mean; each page's median kept at ln 2 / rate, that of a
        Poisson page.""",
    )
    first = _part(page, "at a random moment", at_a_random_moment, WITH_A_MEAN)
    second = _part(page, "after an update", after_an_update, ALL)
    curves = {"at a random moment": first, "after an update": second}
    page.text("What the paper says of the order of the schemes, checked at each a:")
    lowest = {name: [best <= min(rest) for best, *rest in found.values()] for name, found in curves.items()}
    below = {name: [even < rated for _, rated, even in found.values()] for name, found in curves.items()}
    page.table(
        ("curve", "optimal lowest", "uniform below proportional"),
        [(name, in_words(lowest[name]), in_words(below[name])) for name in curves],
    )
    return [one for name, found in curves.items() for one in _judged(name, found, lowest[name], below[name])]


def _judged(
    name: str, found: dict[float, tuple[float, float, float]], lowest: list[bool], below: list[bool]
) -> list[Agreement]:
    optimal = [found[a][0] for a in sorted(found)]
    rises = [heavier > lighter for heavier, lighter in pairwise(optimal)]
    return [
        at_all("Figure 9", f"{name}: optimal lowest", lowest),
        at_all("Figure 9", f"{name}: uniform below proportional", below),
        bound("Figure 9", f"{name}: flat from a = 4 to 2, staleness at 2 over that at 4", found[2.0][0] / found[4.0][0],
              least=1.0 - FLAT, most=1.0 + FLAT, digits=2),
        at_all("Figure 9", f"{name}: optimal rises as a falls", rises),
    ]


def _part(
    page: Page, name: str, staleness: Staleness, shapes: Sequence[float]
) -> dict[float, tuple[float, float, float]]:
    found = {a: values(staleness, a, PAGES) for a in shapes}
    schemes = ("optimal", "proportional", "uniform")
    curves = {scheme: [(a, row[place]) for a, row in found.items()] for place, scheme in enumerate(schemes)}
    figure = (f"9_{name.replace(' ', '_')}", f"Figure 9: average staleness, {name}")
    show(page, curves, f"{name}, a", figure, Scale("a"), "average staleness")
    return found
