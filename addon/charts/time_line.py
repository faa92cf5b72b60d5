"""The history of an object on a time line, as an SVG element of a page.

The style sheet of the page has the classes `axis`, `span` (a stretch in which an update was), `seen` (the contact that
found it), `unchanged` (a contact that found none), `now` and `due` (the next fetch).
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from bestbefore.addon.charts.elements import text_at

WIDTH, HEIGHT = 760, 116
LEFT, RIGHT, MIDDLE = 20.0, 740.0, 58.0
EDGE = 50.0
"""How near to an end of the line a label is moved inwards."""
DAY_S = 86_400.0
STEPS_S = (
    1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 10_800.0, 21_600.0, 43_200.0, DAY_S, 2 * DAY_S, 4 * DAY_S, 7 * DAY_S,
    14 * DAY_S, 28 * DAY_S, 91 * DAY_S, 182 * DAY_S, 364 * DAY_S,
)  # fmt: skip
"""Between ticks, which are at multiples of these."""
TICKS = 5
"""The most ticks, unless the line is of many years."""


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
    for time_s, label in ticks(since_s, until_s):
        x = at(time_s)
        anchor = "start" if x < LEFT + EDGE else "end" if x > RIGHT - EDGE else "middle"
        parts.append(f'<path class="axis" d="M{x:.1f},{MIDDLE + 22:.1f}v6"/>')
        parts.append(text_at(x, MIDDLE + 50, label, anchor))
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


def ticks(since_s: float, until_s: float) -> list[tuple[float, str]]:
    """Return round times within these bounds with their labels, UTC.

    >>> ticks(1_795_860_000.0, 1_795_917_600.0)
    [(1795867200.0, '12:00'), (1795888800.0, '18:00'), (1795910400.0, '29 Nov')]
    >>> [label for _, label in ticks(1_795_860_000.0, 1_795_860_009.0)]
    ['10:00:00', '10:00:05']
    """
    length_s = until_s - since_s
    longest_s = STEPS_S[-1] * math.ceil(length_s / (TICKS * STEPS_S[-1]))
    step_s = next((step_s for step_s in STEPS_S if length_s < TICKS * step_s), longest_s)
    first, last = math.ceil(since_s / step_s), math.floor(until_s / step_s)
    return [(number * step_s, _label(number * step_s, step_s)) for number in range(first, last + 1)]


def _label(time_s: float, step_s: float) -> str:
    if step_s >= 28 * DAY_S:
        form = "%Y-%m-%d"
    elif time_s % DAY_S == 0.0:
        form = "%d %b"
    else:
        form = "%H:%M" if step_s >= 60.0 else "%H:%M:%S"
    return datetime.fromtimestamp(time_s, UTC).strftime(form)
