"""A chart as a standalone SVG file, with its legend below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bestbefore.addon.charts.elements import legend_key

WIDTH, HEIGHT, FONT = 760, 460, 13
LEGEND_COLUMNS = 2
LEGEND_ROW = 1.6 * FONT

STYLE = """
svg { color: #1d2430; font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
text { fill: currentColor; }
.c0 { color: #0067a5; } .c1 { color: #d1495b; } .c2 { color: #2a8c55; } .c3 { color: #8757b3; }
.c4 { color: #b86e00; } .c5 { color: #00899b; } .c6 { color: #6b705c; } .c7 { color: #a4487f; }
.grid, .shares { color: #5c6675; } .shares { font-size: 0.88em; }
.grid path { stroke: #dfe3e8; } .grid .frame { stroke: #5c6675; fill: none; }
.grid .break { stroke: #5c6675; fill: #fff; } .shares path { stroke: #5c6675; }
.titles { font-weight: 600; } .titles .shares { font-weight: 400; }
.series path { fill: currentColor; stroke: #fff; }
.series .line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.series text { font-size: 0.85em; stroke: #fff; stroke-width: 3; paint-order: stroke; stroke-linejoin: round; }
"""
"""The style, on a white background, since a standalone file does not know the colours of the page."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a legend."""

    text: str
    colour: str
    """The CSS class of the series."""
    marker: str
    """The path of its marker, around (0, 0); empty if it has none."""
    joined: bool = True
    """Whether a line goes through its points."""


def framed(chart: str, legend: Sequence[Entry], *, in_page: bool = False) -> str:
    """Return a chart of WIDTH x HEIGHT as a standalone SVG file, or for a page whose style sheet has the classes."""
    rows = -(-len(legend) // LEGEND_COLUMNS)
    height = HEIGHT + LEGEND_ROW * (rows + 0.5)
    own = ("", "") if in_page else (
        f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{height:g}" fill="#fff"/>'
    )  # fmt: skip
    css_class = ' class="chart framed"' if in_page else ""
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg"{css_class} viewBox="0 0 {WIDTH} {height:g}" font-size="{FONT}">',
        *filter(None, own),
        chart,
        *(line for number, entry in enumerate(legend) for line in _entry(number, entry)),
        "</svg>\n",
    ))


def _entry(number: int, entry: Entry) -> Iterator[str]:
    row, column = divmod(number, LEGEND_COLUMNS)
    x, y = 4 * FONT + column * (WIDTH / LEGEND_COLUMNS - 2 * FONT), HEIGHT + LEGEND_ROW * (row + 0.7)
    shown = legend_key(entry.marker, joined=entry.joined)
    yield f'<g class="series {entry.colour}" transform="translate({x:g},{y:g})">{shown}</g>'
    yield f'<text x="{x + 18:g}" y="{y + 0.35 * FONT:g}">{escape(entry.text)}</text>'
