"""The curves of allocation schemes, against the crawls or another parameter."""

from collections.abc import Mapping, Sequence

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.crawling.pages import Pages
from bestbefore.replay.papers.crawling.schemes import Scheme, mean_staleness
from bestbefore.replay.report.page import Page

CRAWLS_PER_PAGE = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)

Curves = dict[str, list[tuple[float, float]]]
"""The points (x, staleness) of each scheme, with the same x for all."""


def over_crawls(
    pages: Pages, weights: FloatArray, schemes: Mapping[str, Scheme], crawls_per_page: Sequence[float]
) -> Curves:
    """Return the mean staleness of pages under each scheme at each number of crawls per page."""
    return {
        name: [
            (crawls, mean_staleness(pages, weights, scheme(pages, weights, round(crawls * len(pages)))))
            for crawls in crawls_per_page
        ]
        for name, scheme in schemes.items()
    }


def show(page: Page, curves: Curves, head: str, figure: tuple[str, str], x: Scale, y: str) -> None:
    """Add curves as a table, with `head` above the values of x, and as a `figure` with this name and caption."""
    rows = zip(*curves.values(), strict=True)
    page.table((head, *curves), [(f"{points[0][0]:g}", *(f"{value:.4f}" for _, value in points)) for points in rows])
    lines = [Line(scheme, points, marked=True) for scheme, points in curves.items()]
    page.figure(*figure, drawn(lines, x, Scale(y)))
