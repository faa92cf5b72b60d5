"""The report of a replay as one self-contained HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from bestbefore.addon.charts.elements import legend_key
from bestbefore.replay.report.chart import BOUND, Chart, colour, marker, svg
from bestbefore.replay.report.formatting import number, words
from bestbefore.replay.report.html_tables import cheapest_table, parts_table, points_table
from bestbefore.replay.report.measure import REQUESTS, Measure
from bestbefore.replay.report.series import Series, series_of
from bestbefore.replay.sweeps.sweep import Result

type Parts = Mapping[str, Sequence[tuple[str, Result]]]
"""For each breakdown, such as `domain`, pairs of a part and its result."""

NO_PARTS: Parts = {}
_PAGE = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))

WORDS: Mapping[str, str] = {
    "requests": "All that were replayed.",
    "misses": "First requests of an object in a cache.",
    "cached": "Requests that found a copy: hits and validations.",
    "hits": "Served from the copy without asking the origin.",
    "stale_hits": "Hits although the object had changed at the origin.",
    "validations": "Requests for which the origin was asked whether the copy is still current.",
    "unnecessary": "Validations that found the object unchanged.",
    "refreshes": "Contacts that no request asked for, after the first of each object.",
    "updates": "Those of the objects after their first refresh.",
    "unfetched": "Updates after which their object was refreshed no more.",
    "mean_delay_s": "The mean time from an update to the first refresh at or after it, in seconds, of those fetched.",
    "max_delay_s": "The longest of these times.",
}


def page(
    results: Sequence[Result], facts: Mapping[str, str], measure: Measure = REQUESTS, parts: Parts = NO_PARTS
) -> str:
    """Return the report as an HTML page; `facts` describe the trace, the replay and the command, in this order."""
    series = series_of(results, measure.x, measure.y)
    chart = Chart(series, measure.x, measure.y, measure.whole)
    drawings = (svg(chart, 960, 560, 14, "wide"), svg(chart, 420, 460, 13, "narrow"))
    same = _the_same(results)
    x, y = words(measure.x), words(measure.y)
    lead = (
        "Each point is a policy with one set of parameters; further left and lower is better. Point at it for its "
        f"figures. The longer a policy trusts copies, the further left it lies ({x}), and the higher ({y})."
    )
    if any(one.name == BOUND for one in series):
        lead += f" None can be both further left and lower than the {BOUND}, which knows the future."
    note = f"Marked with ●: but for the {BOUND}, no policy is better in {x} or {y} without being worse in the other."
    note += " A click on a heading sorts."
    if same:
        note += f" The same for all: {', '.join(f'{words(name)} {number(count)}' for name, count in same.items())}."
    if measure.whole:
        note += f" Percentages are of the {words(measure.whole)} requests."
    names = [name for name in results[0].counts if name not in same]
    return _PAGE.substitute(
        title=f"{y.capitalize()} against {x}",
        lead=escape(lead),
        chart="\n".join(drawings),
        legend="\n".join(_legend(series)),
        cheapest="\n".join(cheapest_table(results, measure)),
        table_note=escape(note),
        table="\n".join(points_table(results, names, measure)),
        parts="\n".join(line for what, lines in parts.items() for line in parts_table(what, lines, measure)),
        facts="\n".join(_definitions(facts)),
        words="\n".join(_definitions({words(name): WORDS[name] for name in results[0].counts if name in WORDS})),
    )


def _legend(series: Sequence[Series]) -> Iterator[str]:
    for place, one in enumerate(series):
        span = f" <span>{escape(one.range_shown())}</span>" if one.key is not None else ""
        shown = legend_key(marker(place, one.name), joined=len(one.results) > 1)
        yield (
            f'<li><svg class="{colour(place, one.name)}" viewBox="-11 -7 22 14" aria-hidden="true"><g class="series">'
            f"{shown}</g></svg>{escape(one.name)}{span}</li>"
        )


def _the_same(results: Sequence[Result]) -> dict[str, float]:
    """The counts that are equal in all results, if there are several results."""
    first, *others = (result.counts for result in results)
    return {name: n for name, n in first.items() if others and all(other[name] == n for other in others)}


def _definitions(texts: Mapping[str, str]) -> Iterator[str]:
    for term, text in texts.items():
        yield f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>"
