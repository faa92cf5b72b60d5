"""A small bar chart as an SVG element of a page, whose style sheet has the classes `bar` and `axis`."""

from collections.abc import Sequence
from html import escape

from bestbefore.addon.charts.axes import number_shown
from bestbefore.addon.charts.elements import text_at

WIDTH, HEIGHT = 760, 180
LEFT, BOTTOM, TOP = 84.0, 150.0, 14.0
GAP = 0.2
"""The part of the width of a bar that is left between two."""


def bars(values: Sequence[float], labels: Sequence[str], title: str) -> str:
    """Return the chart of values, of which none is negative, with a label under each; an empty label has no room.

    `title` says what it shows, for those who do not see it. At least one value must be given.
    """
    most = max(values)
    step = (WIDTH - LEFT) / len(values)
    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts.append(f'<path class="axis" d="M{LEFT:.1f},{TOP:.1f}V{BOTTOM:.1f}H{WIDTH}"/>')
    parts.append(text_at(LEFT - 6, TOP + 9, number_shown(float(f"{most:.2g}" if most < 1.0 else f"{most:.3g}")), "end"))
    parts.append(text_at(LEFT - 6, BOTTOM, "0", "end"))
    for place, (value, label) in enumerate(zip(values, labels, strict=True)):
        x = LEFT + step * (place + GAP / 2)
        height = (BOTTOM - TOP) * value / most if most else 0.0
        if height:
            parts.append(
                f'<rect class="bar" x="{x:.1f}" y="{BOTTOM - height:.1f}" width="{step * (1 - GAP):.1f}" '
                f'height="{height:.1f}"/>'
            )
        if label:
            parts.append(text_at(x + step * (1 - GAP) / 2, BOTTOM + 25, label, "middle"))
    return "".join((*parts, "</svg>"))
