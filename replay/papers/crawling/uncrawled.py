"""Figure 7 again, with a page that is not crawled counted stale for the whole day."""

from collections.abc import Callable, Mapping

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, at_all, in_words
from bestbefore.replay.papers.crawling.curves import CRAWLS_PER_PAGE
from bestbefore.replay.papers.crawling.embarrassment import SEED, drawn_weights
from bestbefore.replay.papers.crawling.pages import MIXED, PAGES, Pages, zipf_rates
from bestbefore.replay.papers.crawling.schemes import in_proportion
from bestbefore.replay.report.page import Page

Rounding = Callable[[FloatArray, int], IntArray]
"""(shares, budget) -> whole crawls in proportion to the shares."""


def rounded_down(shares: FloatArray, budget: int) -> IntArray:
    """Return whole numbers in proportion to the shares, each rounded down, so that part of the budget is left."""
    return np.floor(shares * (budget / shares.sum())).astype(np.int64)


ROUNDINGS: Mapping[str, Rounding] = {"to the budget": in_proportion, "down": rounded_down}
HEURISTICS = ("proportional", "uniform", "weighted proportional", "weighted uniform")


def embarrassments(
    pages: Pages, weights: FloatArray, rounding: Rounding, budget: int, *, uncrawled_stale: bool
) -> list[float]:
    """Return the embarrassment of each of `HEURISTICS`."""
    found = []
    for shares in (pages.rates, np.ones_like(weights), weights * pages.rates, weights):
        visits = rounding(shares, budget)
        stale = pages.staleness(visits)
        if uncrawled_stale:
            stale[visits == 0] = 1.0
        found.append(float(weights @ stale / weights.sum()))
    return found


def write(page: Page) -> list[Agreement]:
    """Write the section on pages that are not crawled."""
    rng = np.random.default_rng(SEED)
    some = Pages.of(zipf_rates(PAGES, 0.0), MIXED, rng)
    weights = drawn_weights(PAGES, rng)
    page.section("Figure 7, left, with uncrawled pages stale")
    page.text(
        """Equation 14 counts a page that is not crawled as current at the beginning of the day: with few updates it
        stays so. A page that is not crawled in any day is stale. Here its staleness is 1, and that of all other pages
        as above. Proportional and weighted schemes leave many pages without a crawl, uniform none. How many depends on
        how crawls become whole numbers: rounded so that they add up to the budget, as above, or each rounded down."""
    )
    best: dict[str, list[bool]] = {}
    for stale in (False, True):
        for name, rounding in ROUNDINGS.items():
            kind = f"{'stale' if stale else 'current at first'}, rounded {name}"
            found = [
                embarrassments(some, weights, rounding, round(crawls * PAGES), uncrawled_stale=stale)
                for crawls in CRAWLS_PER_PAGE
            ]
            best[kind] = [values[1] <= min(values) for values in found]
            if stale:
                page.table(
                    (f"crawls per page, rounded {name}", *HEURISTICS),
                    [
                        (f"{crawls:g}", *(f"{value:.4f}" for value in values))
                        for crawls, values in zip(CRAWLS_PER_PAGE, found, strict=True)
                    ],
                )
    page.text("""At how many budgets uniform, without weights, is the best of the heuristics, as section 5 says:""")
    page.table(("an uncrawled page is", "uniform the best"), [(kind, in_words(held)) for kind, held in best.items()])
    return [
        at_all("Figure 7, left", f"uniform the best of the heuristics, an uncrawled page {kind}", held)
        for kind, held in best.items()
    ]
