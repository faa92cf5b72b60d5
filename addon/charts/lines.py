"""A line chart as an SVG file, with a line or points for each of several cases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bestbefore.addon.charts.axes import MARGIN, Axis
from bestbefore.addon.charts.elements import STAR, colour, grid, line_through, marker, text_at
from bestbefore.addon.charts.file import FONT, HEIGHT, WIDTH, Entry, framed

LEFT, RIGHT, TOP, BOTTOM = 4.4 * FONT, WIDTH - 2.0 * FONT, 2.0 * FONT, HEIGHT - 3.2 * FONT
X_TICKS, Y_TICKS = 12, 9


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart, with its name in the legend."""

    name: str
    points: Sequence[tuple[float, float]]
    """(x, y) in the order in which they are joined."""
    joined: bool = True
    marked: bool = False
    is_star: bool = False
    """Whether its points are stars with the CSS class `star`, which stand out from all others."""
    of: int | None = None
    """The number of the line whose colour it shares, for comparison; None: it has its own colour."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of an axis."""

    title: str
    logarithmic: bool = False
    """Whether equal distances are equal ratios; then all values are positive."""
    with_zero: bool = True
    """Whether a linear axis includes 0 even if no value is near it."""

    def axis(self, values: Iterable[float], start_px: float, end_px: float) -> Axis:
        """Create an axis for all these values."""
        given = list(values)
        least, most = min(given), max(given)
        if self.logarithmic:
            margin = (most / least) ** (MARGIN / 2) if most > least else 2.0
            return Axis(start_px, end_px, least / margin, most * margin, logarithmic=True, has_zero=False)
        if not self.with_zero:
            margin = (most - least) * MARGIN / 2
            return Axis(start_px, end_px, least - margin, most + margin, logarithmic=False, has_zero=False)
        low, high = min(least, 0.0) * (1.0 + MARGIN), max(most, 0.0) * (1.0 + MARGIN)
        return Axis(start_px, end_px, low, high or 1.0, logarithmic=False, has_zero=low == 0.0)


def drawn(lines: Sequence[Line], x: Scale, y: Scale, *, in_page: bool = False) -> str:
    """Return the chart of all lines, of which at least one has a point, with its legend below, as `framed` does."""
    points = [point for line in lines for point in line.points]
    x_axis = x.axis((point[0] for point in points), LEFT, RIGHT)
    y_axis = y.axis((point[1] for point in points), BOTTOM, TOP)
    styled = [
        (line, "star", STAR) if line.is_star
        else (line, colour(number if line.of is None else line.of), marker(number) if line.marked else "")
        for number, line in enumerate(lines)
    ]
    chart = "".join((
        f'<svg class="chart" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y.title)} against {escape(x.title)}">',
        *grid(x_axis, y_axis, FONT, X_TICKS, Y_TICKS),
        f'<g class="titles">{text_at(0.2 * FONT, FONT, f"{y.title} ↑", "start")}',
        f'{text_at(RIGHT, HEIGHT - 0.4 * FONT, f"{x.title} →", "end")}</g>',
        *(
            _line([(x_axis.at(x), y_axis.at(y)) for x, y in line.points], line.joined, css_class, path)
            for line, css_class, path in styled
        ),
        "</svg>",
    ))
    legend = [Entry(line.name, css_class, path, line.joined) for line, css_class, path in styled]
    return framed(chart, legend, in_page=in_page)


def _line(at: Sequence[tuple[float, float]], joined: bool, css_class: str, path: str) -> str:
    return "".join((
        f'<g class="series {css_class}">',
        line_through(at) if joined else "",
        *(f'<path transform="translate({x:.1f},{y:.1f})" d="{path}"/>' for x, y in at if path),
        "</g>",
    ))
