"""The history of an object on a time line, as an SVG element of a page.

The style sheet of the page has the classes `axis`, `span` (a stretch in which an update was), `seen` (the contact that
found it), `unchanged` (a contact that found none), `now` and `due` (the next fetch).
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from bestbefore.addon.charts.elements import text_at

WIDTH, HEIGHT = 760, 110
LEFT, RIGHT, MIDDLE = 20.0, 740.0, 52.0
DAY_S = 86_400.0
TICKS = 5


def time_line(
    since_s: float,
    until_s: float,
    updates: Iterable[tuple[float, float]],
    last_contact_s: float,
    now_s: float,
    due_s: float | None,
    title: str,
) -> str:
    """Return the time line from `since_s` to `until_s` (later), Unix seconds.

    `updates`: the stretch (after_s, by_s] in which each was, found by the contact at its end. `due_s`: the next planned
    fetch. What lies outside is left out. `title` says what it shows, for those who do not see it.
    """
    scale = (RIGHT - LEFT) / (until_s - since_s)

    def at(time_s: float) -> float:
        return LEFT + scale * (min(max(time_s, since_s), until_s) - since_s)

    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<path class="axis" d="M{LEFT:.1f},{MIDDLE:.1f}H{RIGHT:.1f}"/>',
    ]
    for tick in range(TICKS):
        time_s = since_s + (until_s - since_s) * tick / (TICKS - 1)
        anchor = "start" if tick == 0 else "end" if tick == TICKS - 1 else "middle"
        parts.append(f'<path class="axis" d="M{at(time_s):.1f},{MIDDLE + 22:.1f}v6"/>')
        parts.append(text_at(at(time_s), MIDDLE + 46, _shown(time_s, until_s - since_s), anchor))
    for after_s, by_s in updates:
        if by_s < since_s or after_s > until_s:
            continue
        start, end = at(after_s), at(by_s)
        width = end - start
        parts.append(f'<rect class="span" x="{start:.1f}" y="{MIDDLE - 10:.1f}" width="{width:.1f}" height="20"/>')
        parts.append(f'<rect class="seen" x="{end - 1:.1f}" y="{MIDDLE - 16:.1f}" width="2" height="32"/>')
    if since_s <= last_contact_s <= until_s:
        parts.append(f'<circle class="unchanged" cx="{at(last_contact_s):.1f}" cy="{MIDDLE:.1f}" r="5"/>')
    parts.append(f'<path class="now" d="M{at(now_s):.1f},{MIDDLE - 28:.1f}V{MIDDLE + 22:.1f}"/>')
    parts.append(text_at(at(now_s), MIDDLE - 34, "now", "end" if at(now_s) > WIDTH / 2 else "start"))
    if due_s is not None and now_s <= due_s <= until_s:
        x = at(due_s)
        parts.append(f'<path class="due" d="M{x - 6:.1f},{MIDDLE - 22:.1f}h12l-6,10z"/>')
    return "".join((*parts, "</svg>"))


def _shown(time_s: float, length_s: float) -> str:
    form = "%Y-%m-%d" if length_s > 5 * DAY_S else "%d %b %H:%M" if length_s > DAY_S / 4 else "%H:%M:%S"
    return datetime.fromtimestamp(time_s, UTC).strftime(form)
