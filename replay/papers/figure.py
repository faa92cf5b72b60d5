"""The chart of a report as a separate SVG file."""

from collections.abc import Sequence

from bestbefore.addon.charts.file import FONT, HEIGHT, WIDTH, Entry, framed
from bestbefore.replay.report.chart import Chart, colour, marker, svg
from bestbefore.replay.report.measure import REQUESTS, Measure
from bestbefore.replay.report.series import Series


def figure(series: Sequence[Series], measure: Measure = REQUESTS) -> str:
    """Draw series as SVG, with a legend of their names and parameter ranges."""
    chart = svg(Chart(series, measure.x, measure.y, measure.whole), WIDTH, HEIGHT, FONT, "chart")
    legend = [
        Entry(one.full_name, colour(place, one.name), marker(place, one.name)) for place, one in enumerate(series)
    ]
    return framed(chart.replace("<svg ", f'<svg width="{WIDTH}" height="{HEIGHT}" ', 1), legend)
