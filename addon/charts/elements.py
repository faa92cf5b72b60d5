"""The SVG elements of charts. Colours are the CSS classes `c0` to `c7`."""

from collections.abc import Iterator, Sequence
from html import escape

from bestbefore.addon.charts.axes import Axis, number_shown
from bestbefore.addon.charts.labels import WIDTH

COLOURS = 8
MARKERS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",  # a disc
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.8L4.6,3.6H-4.6z",
    "M0,-5.2L5.2,0L0,5.2L-5.2,0z",
    "M0,4.8L4.6,-3.6H-4.6z",
    "M-5,-1.6H-1.6V-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5z",
    "M-4.9,-1.6L0,-5.2L4.9,-1.6L3,4.2H-3z",
)
"""Paths around (0, 0). Seven of them and eight colours make 56 series; the first seven differ also in grey."""

STAR = "M0,-8L1.9,-2.6L7.6,-2.5L3,1L4.7,6.5L0,3.2L-4.7,6.5L-3,1L-7.6,-2.5L-1.9,-2.6z"
"""The path of a point that stands out from all series."""


def colour(place: int) -> str:
    """Return the CSS class of the colour of the series with this number."""
    return f"c{place % COLOURS}"


def marker(place: int) -> str:
    """Return the path of the marker of the series with this number, around (0, 0)."""
    return MARKERS[place % len(MARKERS)]


def legend_key(marker_path: str, *, joined: bool) -> str:
    """Return a series' key in the legend, around (0, 0): a line if its points are joined, and its marker if any."""
    line = '<path class="line" d="M-11,0H11"/>' if joined else ""
    return line + (f'<path d="{marker_path}"/>' if marker_path else "")


def text_at(x: float, y: float, content: str, anchor: str) -> str:
    """Text whose `anchor` (start, middle or end) of the baseline is at (x, y)."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def line_through(points: Sequence[tuple[float, float]]) -> str:
    """Return the line through two or more points; empty for fewer."""
    if len(points) < 2:
        return ""
    return f'<path class="line" fill="none" d="M{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def grid(x_axis: Axis, y_axis: Axis, font: float, most_x: int, most_y: int) -> Iterator[str]:
    """Yield both axes with at most so many ticks each; a tick that would overlap another is left out."""
    left, right, top, bottom = x_axis.start_px, x_axis.end_px, y_axis.end_px, y_axis.start_px
    yield '<g class="grid">'
    last_end = float("-inf")
    for value in x_axis.ticks(most_x):
        x, shown = x_axis.at(value), number_shown(value)
        yield f'<path d="M{x:.1f},{top:.1f}V{bottom:.1f}"/>'
        half = WIDTH * font * (len(shown) + 1) / 2
        if x - half >= last_end:
            yield text_at(x, bottom + 1.25 * font, shown, "middle")
            last_end = x + half
    for value in y_axis.ticks(most_y):
        y = y_axis.at(value)
        yield f'<path d="M{left:.1f},{y:.1f}H{right:.1f}"/>'
        yield text_at(left - 0.5 * font, y + 0.35 * font, number_shown(value), "end")
    yield f'<path class="frame" fill="none" d="M{left:.1f},{top:.1f}V{bottom:.1f}H{right:.1f}"/>'
    if x_axis.break_px is not None:
        yield f'<path class="break" d="M{x_axis.break_px - 2:.1f},{bottom - 5:.1f}v10m4,0v-10"/>'
    if y_axis.break_px is not None:
        yield f'<path class="break" d="M{left - 5:.1f},{y_axis.break_px - 2:.1f}h10m0,4h-10"/>'
    yield "</g>"
