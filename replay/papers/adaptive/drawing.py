"""The figures of stale hits against validations, as shares of the requests that found a copy."""

from collections.abc import Sequence

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.replay.papers.adaptive.curves import STALE_RATE, VALIDATION_RATE, rates
from bestbefore.replay.report.page import Page
from bestbefore.replay.report.series import Series

PER_CENT = 100.0


def add_rates_figure(
    page: Page, name: str, caption: str, series: Sequence[Series], *, logarithmic_x: bool = False
) -> None:
    """Add a figure with a line for each series, from its least parameter at the lower right to its largest.

    Points without stale hits or validations are left out, as axes are logarithmic; without any point no figure is
    added.
    """
    lines = [_line(one) for one in series]
    if any(line.points for line in lines):
        found = f"% of the {cached_requests(series):,.0f} requests that found a copy"
        x = Scale(f"validations, {found}", logarithmic_x, with_zero=False)
        page.figure(name, caption, drawn(lines, x, Scale("stale hits, % of the same requests", logarithmic=True)))


def cached_requests(series: Sequence[Series]) -> float:
    """The number of requests that found a copy, which is the same for every policy."""
    return max((result.counts["cached"] for one in series for result in one.results), default=0.0)


def _line(series: Series) -> Line:
    shares = [rates(result.counts) for result in series.results]
    xy = [(PER_CENT * share[VALIDATION_RATE], PER_CENT * share[STALE_RATE]) for share in shares]
    return Line(series.full_name, [point for point in xy if min(point) > 0.0], marked=True)
