"""The chart of a report: one count against another, a curve for each policy, as SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bestbefore.addon.charts import elements, file
from bestbefore.addon.charts.axes import Axis
from bestbefore.addon.charts.elements import text_at
from bestbefore.addon.charts.labels import Labels
from bestbefore.replay.report.formatting import number, percent, words
from bestbefore.replay.report.measure import REQUESTS, Measure
from bestbefore.replay.report.series import Series, series_of, value_shown
from bestbefore.replay.sweeps.sweep import Result

BOUND = "oracle"
"""The policy whose point bounds those of all others."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of the count `y` against the count `x`, with a second scale in shares of the count `whole` if given."""

    series: Sequence[Series]
    x: str
    y: str
    whole: str | None


def marker(place: int, name: str) -> str:
    """The SVG path of the marker of a series, centred at (0, 0)."""
    return elements.STAR if name == BOUND else elements.marker(place)


def colour(place: int, name: str) -> str:
    """The CSS class that gives a series its colour."""
    return "bound" if name == BOUND else elements.colour(place)


def svg(chart: Chart, width: float, height: float, font: float, css_class: str) -> str:
    """The chart as SVG on a canvas of this size in pixels, with text `font` pixels high."""
    return "".join(_Drawing(chart, width, height, font).elements(css_class))


def figure(series: Sequence[Series], measure: Measure = REQUESTS) -> str:
    """Draw series as a standalone SVG file, with a legend of their names and parameter ranges."""
    drawn = svg(Chart(series, measure.x, measure.y, measure.whole), file.WIDTH, file.HEIGHT, file.FONT, "chart")
    legend = [
        file.Entry(one.full_name, colour(place, one.name), marker(place, one.name)) for place, one in enumerate(series)
    ]
    return file.framed(drawn.replace("<svg ", f'<svg width="{file.WIDTH}" height="{file.HEIGHT}" ', 1), legend)


def frontier_chart(results: Sequence[Result], measure: Measure = REQUESTS) -> str:
    """Draw the results as a standalone SVG file: a curve for each policy, a star for the oracle.

    By default it shows stale hits against validations, with scales in shares of the requests that found a copy.
    """
    return figure(series_of(results, measure.x, measure.y), measure)


class _Drawing:
    """A chart on a canvas of one size."""

    def __init__(self, chart: Chart, width: float, height: float, font: float) -> None:
        self.chart = chart
        self.width, self.height, self.font = width, height, font
        shares = chart.whole is not None
        self.left, self.right = 4.4 * font, width - (3.2 if shares else 1.0) * font
        self.top, self.bottom = (3.4 if shares else 2.0) * font, height - 3.2 * font
        results = [result for series in chart.series for result in (*series.results, *series.beside)]
        self.x_axis = Axis.of([result.counts[chart.x] for result in results], self.left, self.right)
        self.y_axis = Axis.of([result.counts[chart.y] for result in results], self.bottom, self.top)
        self.whole = next((result.counts[chart.whole] for result in results), 0.0) if chart.whole else 0.0
        self.x_ticks = max(2, int((self.right - self.left) / (5.0 * font)))
        self.y_ticks = max(2, int((self.bottom - self.top) / (3.0 * font)))

    def elements(self, css_class: str) -> Iterator[str]:
        title = f"{words(self.chart.y)} against {words(self.chart.x)}, a curve for each policy"
        yield (
            f'<svg class="{css_class}" viewBox="0 0 {self.width:g} {self.height:g}" font-size="{self.font:g}" '
            f'role="img" aria-label="{escape(title)}">'
        )
        yield from elements.grid(self.x_axis, self.y_axis, self.font, self.x_ticks, self.y_ticks)
        if self.whole > 0.0:
            yield from self._shares()
        yield from self._titles()
        labels = Labels(self.left, self.top, self.right, self.bottom, self.font * 0.85)
        for series in self.chart.series:
            labels.block_line([self._place(result) for result in series.results])
            for result in series.beside:
                labels.block(*self._place(result))
        for place, series in enumerate(self.chart.series):
            yield from self._series(place, series, labels)
        yield "</svg>"

    def _place(self, result: Result) -> tuple[float, float]:
        return self.x_axis.at(result.counts[self.chart.x]), self.y_axis.at(result.counts[self.chart.y])

    def _shares(self) -> Iterator[str]:
        """Yield the scales in percent of the whole, at the top and on the right."""
        yield '<g class="shares">'
        for value in self.x_axis.ticks(self.x_ticks, self.whole / 100):
            x = self.x_axis.at(value)
            yield f'<path d="M{x:.1f},{self.top:.1f}v{-0.4 * self.font:.1f}"/>'
            yield text_at(x, self.top - 0.7 * self.font, percent(value / self.whole), "middle")
        for value in self.y_axis.ticks(self.y_ticks, self.whole / 100):
            y = self.y_axis.at(value)
            yield f'<path d="M{self.right:.1f},{y:.1f}h{0.4 * self.font:.1f}"/>'
            yield text_at(self.right + 0.6 * self.font, y + 0.35 * self.font, percent(value / self.whole), "start")
        yield "</g>"

    def _titles(self) -> Iterator[str]:
        yield '<g class="titles">'
        yield text_at(0.2 * self.font, self.font, f"{words(self.chart.y)} ↑", "start")
        yield text_at(self.right, self.height - 0.4 * self.font, f"{words(self.chart.x)} →", "end")
        if self.whole > 0.0:
            note = f"in % of the {self.whole:,.0f} requests that found a copy"
            yield f'<g class="shares">{text_at(self.width - 0.2 * self.font, self.font, note, "end")}</g>'
        yield "</g>"

    def _series(self, place: int, series: Series, labels: Labels) -> Iterator[str]:
        yield f'<g class="series {colour(place, series.name)}">'
        yield elements.line_through([self._place(result) for result in series.results])
        path = marker(place, series.name)
        for result in (*series.beside, *series.results):
            x, y = self._place(result)
            aside = ' class="aside"' if result in series.beside else ""
            yield f'<path{aside} transform="translate({x:.1f},{y:.1f})" d="{path}">'
            yield f"<title>{escape(tooltip(result, self.chart.whole))}</title></path>"
        for result, texts in _labels(series):
            for text in texts:
                if begin := labels.place(*self._place(result), text):
                    yield text_at(*begin, text, "start")
                    break
        yield "</g>"


def tooltip(result: Result, whole: str | None) -> str:
    """The tooltip of a point: its policy and counts, a line each."""
    total = result.counts[whole] if whole else 0.0
    lines = [result.point.spec]
    for name, count in result.counts.items():
        share = f" ({percent(count / total)})" if total and count <= total else ""
        lines.append(f"{words(name)}: {number(count)}{share}")
    return "\n".join(lines)


def _labels(series: Series) -> Iterator[tuple[Result, Sequence[str]]]:
    """Yield the results with a label, and its alternative texts, of which the first one that fits is drawn."""
    if not series.results:
        return
    first, last = series.results[0], series.results[-1]
    if series.key is None:
        yield first, [series.name]
        return
    name = series.name.partition(":")[0]
    for result, texts in ((first, [name]), (last, [])):
        value = value_shown(result, series.key)
        yield result, [*(f"{text} {value}" for text in texts), value]
