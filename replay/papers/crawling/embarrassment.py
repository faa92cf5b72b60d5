"""Figure 7: the embarrassment metric, against the crawls and against the skew of the update rates."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from bestbefore.addon.charts.lines import Scale
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, at_all, in_words
from bestbefore.replay.papers.claims import verdict
from bestbefore.replay.papers.crawling.curves import CRAWLS_PER_PAGE, Curves, over_crawls, show
from bestbefore.replay.papers.crawling.embarrassment_weights import click_probabilities, embarrassment_weights
from bestbefore.replay.papers.crawling.pages import MIXED, PAGES, Pages, zipf_rates
from bestbefore.replay.papers.crawling.schemes import UNWEIGHTED, WEIGHTED, Scheme, is_convex
from bestbefore.replay.report.page import Page

POSITIONS, RESULT_PAGES, NEXT_PAGE = 10, 5, 0.8
SPREAD = 5.0
"""The standard deviation, in positions, of where a page is returned; the paper names none."""
SEED = 2002
CONVERGED = 0.1
"""Curves converge where their spread is at most this share of that at the beginning."""
PARAMETERS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SCHEMES: Mapping[str, Scheme] = {**UNWEIGHTED, **WEIGHTED}

Arrangement = Callable[[FloatArray], FloatArray]
"""Assigns weights to pages, which are ordered by rate, the highest first."""
ARRANGEMENTS: Mapping[str, Arrangement] = {
    "independent": lambda weights: weights,
    "heaviest updated most": lambda weights: np.sort(weights)[::-1],
    "heaviest updated least": np.sort,
}
STATEMENTS = (
    ("weighted optimal", "optimal"),
    ("proportional", "weighted proportional"),
    ("uniform", "weighted uniform"),
    ("uniform", "proportional"),
    ("weighted uniform", "weighted proportional"),
)
"""The order of schemes according to section 5."""


def drawn_weights(pages: int, rng: np.random.Generator) -> FloatArray:
    """(pages,) the weights of equation 8, with factors sampled as in section 5."""
    positions = np.arange(POSITIONS * RESULT_PAGES)
    returned = np.exp(-(((positions - positions[:, None]) / SPREAD) ** 2) / 2.0)  # about each position
    returned /= returned.sum(axis=1, keepdims=True)
    by_page = returned.reshape(-1, RESULT_PAGES, POSITIONS).transpose(0, 2, 1)
    clicked = click_probabilities(POSITIONS, RESULT_PAGES, NEXT_PAGE)
    seen = embarrassment_weights(np.ones(len(positions)), clicked, by_page)
    centre = rng.integers(len(positions), size=pages)
    return rng.random(pages) * seen[centre]


def over_budgets(pages: int, crawls_per_page: Sequence[float], arranged: Arrangement) -> Curves:
    """Return the curve of each scheme over budgets, with rates by Zipf's law."""
    rng = np.random.default_rng(SEED)
    some = Pages.of(zipf_rates(pages, 0.0), MIXED, rng)
    return over_crawls(some, arranged(drawn_weights(pages, rng)), SCHEMES, crawls_per_page)


def over_parameters(pages: int, parameters: Sequence[float], crawls: float = 2.5) -> Curves:
    """Return the curve of each scheme over Zipf parameters, with the same kinds and weights of pages."""
    curves: Curves = {name: [] for name in SCHEMES}
    for parameter in parameters:
        rng = np.random.default_rng(SEED)
        some = Pages.of(zipf_rates(pages, parameter), MIXED, rng)
        weights = drawn_weights(pages, rng)
        for name, [(_, value)] in over_crawls(some, weights, SCHEMES, (crawls,)).items():
            curves[name].append((parameter, value))
    return curves


def write(page: Page) -> list[Agreement]:
    """Write the section on embarrassment."""
    page.section("Figure 7: two embarrassment metric examples")
    page.text(
        f"""Weights of equation 8 from their parts: {RESULT_PAGES} result pages with {POSITIONS} positions, a page
        returned about a random position, normally distributed and cut off at the ends, clicks Zipf-like with parameter
        0 over the {POSITIONS * RESULT_PAGES} positions and times {NEXT_PAGE} for each further result page, d uniform in
        [0, 1]. The vertical axis is the sum of weight times staleness over the sum of weights. Assumed, because the
        paper does not say: the standard deviation of the position ({SPREAD:g}), that weights and rates are independent,
        and on the right the same mixture as on the left (the paper's is "somewhat differing")."""
    )
    left = {name: over_budgets(PAGES, CRAWLS_PER_PAGE, arranged) for name, arranged in ARRANGEMENTS.items()}
    figure = ("7_left", "Figure 7, left: embarrassment against crawls per page")
    x = Scale("crawls per page", with_zero=False)
    show(page, left["independent"], "crawls per page", figure, x, "embarrassment")
    agreements = _statements_left(page, left)
    right = over_parameters(PAGES, PARAMETERS)
    figure = ("7_right", "Figure 7, right: embarrassment against the Zipf parameter, 2.5 crawls per page")
    show(page, right, "Zipf parameter", figure, Scale("Zipf parameter", with_zero=False), "embarrassment")
    return [*agreements, *_statements_right(page, right)]


def held(curves: Curves) -> dict[str, list[bool]]:
    """Return whether each statement about the left figure holds, at each budget."""
    others = [curves[name] for name in SCHEMES if "optimal" not in name]
    return {
        **{
            f"{better} below {worse}": [a < b for (_, a), (_, b) in zip(curves[better], curves[worse], strict=True)]
            for better, worse in STATEMENTS
        },
        "uniform the best of the heuristics": [
            value <= min(other[i][1] for other in others) for i, (_, value) in enumerate(curves["uniform"])
        ],
        "weighted optimal convex in the crawls": [is_convex(curves["weighted optimal"])],
    }


def _statements_left(page: Page, curves: Mapping[str, Curves]) -> list[Agreement]:
    found = {name: held(each) for name, each in curves.items()}
    statements = list(found["independent"])
    page.text(
        """What section 5 says of the left figure, and at how many budgets it is true of ours: with weights that do not
        depend on the rates, and with the same weights sorted by them. The paper speaks of "the correlation of the
        weights and the update frequencies" without saying what it was."""
    )
    page.table(
        ("statement", *found), [(what, *(in_words(each[what]) for each in found.values())) for what in statements]
    )
    return [at_all("Figure 7, left", f"{what}, independent weights", found["independent"][what]) for what in statements]


def _statements_right(page: Page, curves: Curves) -> list[Agreement]:
    def spread(number: int, names: Sequence[str]) -> float:
        values = [curves[name][number][1] for name in names]
        return max(values) - min(values)

    groups = {
        "the three unweighted schemes": list(UNWEIGHTED), "the three weighted schemes": list(WEIGHTED),
        "all six": list(SCHEMES),
    }
    spreads = {name: (spread(0, schemes), spread(-1, schemes)) for name, schemes in groups.items()}
    page.table(
        ("largest less least embarrassment", "parameter 0", "parameter 1"),
        [(name, f"{first:.4f}", f"{last:.4f}") for name, (first, last) in spreads.items()],
    )
    page.text(
        """The paper says that the curves converge "in the absence of weights when q = 1". There the rates of all pages
        are the same, so that uniform and proportional are one scheme, weighted or not; the optimal scheme still
        distinguishes the kinds of pages, and with weights single pages."""
    )
    rising = [all(b > a for (_, a), (_, b) in pairwise(points)) for points in curves.values()]
    return [
        at_all("Figure 7, right", "each scheme rises with the Zipf parameter", rising),
        *(
            Agreement(
                "Figure 7, right", f"{name} converge at parameter 1", f"{100 * last / first:.1f} % of the spread at 0",
                f"≤ {100 * CONVERGED:.0f} %", verdict(last <= CONVERGED * first),
            )
            for name, (first, last) in spreads.items()
        ),
    ]
