"""Figure 8: the average staleness of a mixture of pages and of each kind alone, against the crawls."""

from collections.abc import Sequence
from time import process_time

import numpy as np

from bestbefore.addon.charts.lines import Scale
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import PoissonGains
from bestbefore.replay.papers.agreement import Agreement, at_all, bound, in_words
from bestbefore.replay.papers.claims import verdict
from bestbefore.replay.papers.crawling.curves import CRAWLS_PER_PAGE, Curves, over_crawls, show
from bestbefore.replay.papers.crawling.pages import MIXED, PAGES, SHAPE, Kind, Mixture, Pages, zipf_rates
from bestbefore.replay.papers.crawling.quasideterministic import MOST_POTENTIAL
from bestbefore.replay.papers.crawling.schemes import UNWEIGHTED, is_convex, mean_staleness
from bestbefore.replay.report.page import Page

MIXTURES: dict[str, Mixture] = {
    "mixed": MIXED,
    "Poisson": {Kind.POISSON: 1.0},
    "Pareto": {Kind.PARETO: 1.0},
    "quasi-deterministic": {Kind.QUASI_DETERMINISTIC: 1.0},
}
SEED = 2002
SIZES = (10_000, 100_000, 1_000_000)
NOTHING = 5e-7
"""Staleness below this is shown as 0."""


def curves_of(mixture: Mixture, pages: int, crawls_per_page: Sequence[float]) -> Curves:
    """Return the curves of the three schemes, with rates by Zipf's law."""
    some = Pages.of(zipf_rates(pages, 0.0), mixture, np.random.default_rng(SEED))
    return over_crawls(some, np.ones(pages), UNWEIGHTED, crawls_per_page)


def write(page: Page) -> list[Agreement]:
    """Write the section on mixtures."""
    page.section("Figure 8: four average staleness metric examples")
    page.text(
        f"""Assumed, because the paper does not say: update rates by Zipf's law (parameter 0, as in Figure 7), Pareto
        laws with a = {SHAPE}, and quasi-deterministic pages with ceil(2 x rate) potential updates a day, at most
        {MOST_POTENTIAL}, at equal distances and equally probable. Those are crawled at the best of their potential
        updates (exactly, not greedily)."""
    )
    found = {name: curves_of(mixture, PAGES, CRAWLS_PER_PAGE) for name, mixture in MIXTURES.items()}
    for name, curves in found.items():
        figure = (f"8_{name.partition('-')[0].lower()}", f"Figure 8: average staleness, {name}")
        x = Scale("crawls per page", with_zero=False)
        show(page, curves, f"{name}, crawls per page", figure, x, "average staleness")
    return [*_statements(page, found), _sizes(page)]


def _statements(page: Page, found: dict[str, Curves]) -> list[Agreement]:
    rows, agreements = [], []
    behind: dict[str, float] = {}
    """By how much the uniform scheme is staler than the optimal one, at the smallest budget."""
    for name, curves in found.items():
        best, proportional, uniform = ([y for _, y in points] for points in curves.values())
        zero = next((x for x, y in curves["optimal"] if y < NOTHING), None)
        lowest = [a <= min(b, c) for a, b, c in zip(best, proportional, uniform, strict=True)]
        below = [c < b for b, c in zip(proportional, uniform, strict=True)]
        convex = is_convex(curves["optimal"])
        behind[name] = 1.0 - best[0] / uniform[0]
        rows.append((
            name, in_words(lowest), in_words(below), "yes" if convex else "no", f"{100 * behind[name]:.0f} %",
            "–" if zero is None else f"{zero:g}",
        ))
        agreements += [
            at_all("Figure 8", f"{name}: optimal lowest", lowest),
            at_all("Figure 8", f"{name}: uniform below proportional", below),
            at_all("Figure 8", f"{name}: optimal convex in the crawls", [convex]),
        ]
    page.text("What section 5 says of the figure, checked at each budget:")
    page.table(
        (
            "pages", "optimal lowest", "uniform below proportional", "optimal convex",
            f"optimal below uniform, {CRAWLS_PER_PAGE[0]:g} crawls per page", "optimal 0 from crawls per page",
        ),
        rows,
    )
    regular = found["quasi-deterministic"]["optimal"][-1]
    others = {name: share for name, share in behind.items() if name != "Poisson"}
    return [
        *agreements,
        bound("Figure 8", f"quasi-deterministic: optimal 0 at {regular[0]:g} crawls per page", regular[1],
              most=NOTHING, digits=6),
        Agreement(
            "Figure 8", "uniform is furthest behind optimal for Poisson pages",
            ", ".join(f"{name} {100 * share:.0f} %" for name, share in behind.items()),
            f"at {CRAWLS_PER_PAGE[0]:g} crawls per page",
            verdict(*(behind["Poisson"] > share for share in others.values())),
        ),
    ]


def _sizes(page: Page) -> Agreement:
    rows = []
    seconds = 0.0
    for pages in SIZES:
        rates = zipf_rates(pages, 0.0)
        gains = PoissonGains(rates, None, "interval")
        began = process_time()
        visits = best_visits(gains, round(2.5 * pages))
        seconds = process_time() - began
        some = Pages.of(rates, MIXTURES["Poisson"], np.random.default_rng(SEED))
        rows.append((f"{pages:,}", f"{mean_staleness(some, np.ones(pages), visits):.4f}", f"{seconds:.2f}"))
    page.text(
        """The paper's division of crawls took up to a minute. Poisson pages, 2.5 crawls per page, by
        `policies/prefetch/discrete/best.py`:"""
    )
    page.table(("pages", "staleness, optimal", "processor seconds"), rows)
    return bound("section 5", f"crawls divided among {SIZES[-1]:,} pages in a minute, processor s", seconds,
                 most=60.0, digits=2)
