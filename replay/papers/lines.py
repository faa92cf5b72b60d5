"""A figure of a paper: numbers against numbers, a line or points for each of several cases, as an SVG file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bestbefore.replay.papers.figure import FONT, HEIGHT, WIDTH, Entry, framed
from bestbefore.replay.report.axes import MARGIN, Axis, number_shown
from bestbefore.replay.report.chart import colour, marker

LEFT, RIGHT, TOP, BOTTOM = 4.4 * FONT, WIDTH - 2.0 * FONT, 2.0 * FONT, HEIGHT - 3.2 * FONT
X_TICKS, Y_TICKS = 12, 9


@dataclass(frozen=True, slots=True)
class Line:
    """One case, under the name that the legend gives it."""

    name: str
    points: Sequence[tuple[float, float]]
    """(x, y) in the order in which they are joined."""
    joined: bool = True
    marked: bool = False
    of: int | None = None
    """The number of the line whose colour it has, since they are compared; None: a colour of its own."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis."""

    title: str
    logarithmic: bool = False
    """Whether equal distances are equal ratios; then all values are positive."""
    with_zero: bool = True
    """Whether a linear one has 0 too, where there are no values."""

    def axis(self, values: Iterable[float], start_px: float, end_px: float) -> Axis:
        """One on which all these values have their place."""
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


def drawn(lines: Sequence[Line], x: Scale, y: Scale) -> str:
    """The drawing of all lines, which have at least one point together, with its legend beneath."""
    points = [point for line in lines for point in line.points]
    x_axis = x.axis((point[0] for point in points), LEFT, RIGHT)
    y_axis = y.axis((point[1] for point in points), BOTTOM, TOP)
    colours = [colour(number if line.of is None else line.of, "") for number, line in enumerate(lines)]
    markers = [marker(number, "") if line.marked else "" for number, line in enumerate(lines)]
    chart = "".join((
        f'<svg class="chart" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y.title)} against {escape(x.title)}">',
        *_grid(x_axis, y_axis),
        f'<g class="titles">{_text(0.2 * FONT, FONT, f"{y.title} ↑", "start")}',
        f'{_text(RIGHT, HEIGHT - 0.4 * FONT, f"{x.title} →", "end")}</g>',
        *(
            _line([(x_axis.at(x), y_axis.at(y)) for x, y in line.points], line.joined, css_class, path)
            for line, css_class, path in zip(lines, colours, markers, strict=True)
        ),
        "</svg>",
    ))
    legend = [
        Entry(line.name, css_class, path, line.joined)
        for line, css_class, path in zip(lines, colours, markers, strict=True)
    ]
    return framed(chart, legend)


def _grid(x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    yield '<g class="grid">'
    for value in x_axis.ticks(X_TICKS):
        x = x_axis.at(value)
        yield f'<path d="M{x:.1f},{TOP:.1f}V{BOTTOM:.1f}"/>'
        yield _text(x, BOTTOM + 1.25 * FONT, number_shown(value), "middle")
    for value in y_axis.ticks(Y_TICKS):
        y = y_axis.at(value)
        yield f'<path d="M{LEFT:.1f},{y:.1f}H{RIGHT:.1f}"/>'
        yield _text(LEFT - 0.5 * FONT, y + 0.35 * FONT, number_shown(value), "end")
    yield f'<path class="frame" fill="none" d="M{LEFT:.1f},{TOP:.1f}V{BOTTOM:.1f}H{RIGHT:.1f}"/></g>'


def _line(at: Sequence[tuple[float, float]], joined: bool, css_class: str, path: str) -> str:
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return "".join((
        f'<g class="series {css_class}">',
        f'<path class="line" fill="none" d="M{through}"/>' if joined and len(at) > 1 else "",
        *(f'<path transform="translate({x:.1f},{y:.1f})" d="{path}"/>' for x, y in at if path),
        "</g>",
    ))


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
