"""The tables of a report, as HTML."""

from collections.abc import Iterator, Sequence
from html import escape

from bestbefore.replay.report.chart import BOUND
from bestbefore.replay.report.cheapest import cheapest
from bestbefore.replay.report.formatting import number, percent, words
from bestbefore.replay.report.frontier import on_frontier
from bestbefore.replay.report.measure import Measure
from bestbefore.replay.sweeps.sweep import Result

MOST_LINES = 1_000
"""The most lines of a table of parts."""


def cheapest_table(results: Sequence[Result], measure: Measure) -> Iterator[str]:
    """Yield a table, with its heading, of the cheapest results; nothing for a measure without shares."""
    rivals = [result for result in results if result.point.policy.name != BOUND]
    if measure.whole is None or not rivals:
        return
    x, y = words(measure.x), words(measure.y)
    bound = next((result.counts[measure.x] for result in results if result.point.policy.name == BOUND), 0.0)
    times = f"<th>times the {BOUND}'s</th>" if bound else ""
    yield f"<h2>The fewest {escape(x)}, by how many {escape(y)} are allowed</h2>"
    yield '<div class="scroll"><table>'
    yield f"<thead><tr><th>policy</th><th>{escape(y)} at most</th><th>{escape(y)}</th><th>{escape(x)}</th>{times}</tr>"
    yield "</thead><tbody>"
    for share, best in cheapest(rivals, measure.x, measure.y, measure.whole):
        at_most = f'<td data-value="{share!r}">{percent(share)}</td>'
        if best is None:
            cells = "<td></td>" * (3 if bound else 2)
            yield f"<tr><td>none of these</td>{at_most}{cells}</tr>"
            continue
        cells = "".join(_cell(best.counts[name], best.counts[measure.whole]) for name in (measure.y, measure.x))
        if bound:
            cells += f"<td>{best.counts[measure.x] / bound:,.1f}</td>"
        yield f"<tr><td><code>{escape(best.point.spec)}</code></td>{at_most}{cells}</tr>"
    yield "</tbody></table></div>"


def points_table(results: Sequence[Result], names: Sequence[str], measure: Measure) -> Iterator[str]:
    """Yield a table of these counts of all results; those on the frontier of all policies but the oracle are marked."""
    rivals = [result for result in results if result.point.policy.name != BOUND]
    best = on_frontier([(result.counts[measure.x], result.counts[measure.y]) for result in rivals])
    marked = {result.point for result, is_best in zip(rivals, best, strict=True) if is_best}
    heads = "".join(f"<th>{escape(words(name))}</th>" for name in names)
    yield f'<thead><tr><th>policy</th><th class="mark">●</th>{heads}</tr></thead><tbody>'
    for result in results:
        is_marked = result.point in marked
        mark = f'<td class="mark" data-value="{int(not is_marked)}">{"●" if is_marked else ""}</td>'
        whole = result.counts[measure.whole] if measure.whole else 0.0
        cells = "".join(_cell(result.counts[name], whole) for name in names)
        yield f"<tr><td><code>{escape(result.point.spec)}</code></td>{mark}{cells}</tr>"
    yield "</tbody>"


def parts_table(key: str, lines: Sequence[tuple[str, Result]], measure: Measure) -> Iterator[str]:
    """Yield a table, with its heading, of the counts of each part of the trace, or their number if there are many."""
    yield f"<h2>By {escape(key)}</h2>"
    if len(lines) > MOST_LINES:
        yield f'<p class="lead">{len(lines):,} lines, one for each {escape(key)} and policy: in counts.csv.</p>'
        return
    names = list(dict.fromkeys(name for _, result in lines for name in result.counts))
    if measure.whole in names:  # counts before it are not shares of it
        names = names[names.index(measure.whole) :]
    heads = "".join(f"<th>{escape(words(name))}</th>" for name in names)
    yield '<div class="scroll"><table>'
    yield f'<thead><tr><th>{escape(key)}</th><th class="left">policy</th>{heads}</tr></thead><tbody>'
    for part, result in sorted(lines, key=lambda line: line[0]):
        whole = result.counts[measure.whole] if measure.whole else 0.0
        cells = "".join(
            _cell(result.counts[name], 0.0 if name == measure.whole else whole)
            if name in result.counts else "<td></td>"
            for name in names
        )
        spec = f'<td class="left"><code>{escape(result.point.spec)}</code></td>'
        yield f'<tr><td class="part">{escape(part) or "(none)"}</td>{spec}{cells}</tr>'
    yield "</tbody></table></div>"


def _cell(count: float, whole: float) -> str:
    """A table cell with a count, and its share of the whole unless the whole is 0."""
    share = f"<i>{count / whole:.1%}</i>" if whole else ""
    return f'<td data-value="{count!r}">{number(count)}{share}</td>'
