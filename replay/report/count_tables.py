"""The formatting of counts as text tables."""

from collections.abc import Iterator, Mapping, Sequence

from bestbefore.addon.config.problems import printable
from bestbefore.replay.report.formatting import aligned
from bestbefore.replay.sweeps.finished_points import Row

Line = tuple[Sequence[str], Row]
"""The leading texts of a table row, and its counts."""
WIDEST = 80
"""The most characters of a name that is shown unchanged."""


def tables(heads: Sequence[str], lines: Sequence[Line], keys: Sequence[str]) -> str:
    """Return a table of the counts of whole traces, then one for each breakdown.

    `heads` are the headings of the leading texts. `keys` are the names of the breakdowns; a line without any of these
    columns belongs to the whole trace.
    """
    kinds = [[line for line in lines if not any(key in line[1] for key in keys)]]
    kinds += [[line for line in lines if key in line[1]] for key in keys]
    return "\n\n".join("\n".join(_table(heads, kind)) for kind in kinds if kind)


def _table(heads: Sequence[str], lines: Sequence[Line]) -> Iterator[str]:
    texts = [name for name, value in lines[0][1].items() if isinstance(value, str)]
    cells = [[*heads, *(name.replace("_", " ") for name in lines[0][1])]]
    cells += [[*words, *_shown(row)] for words, row in lines]
    return aligned(cells, len(heads) + len(texts))


def _shown(row: Mapping[str, float | str | None]) -> Iterator[str]:
    for value in row.values():
        match value:
            case None:
                yield "-"
            case str():
                yield _name(value)
            case int():
                yield f"{value:,}"
            case float():
                yield f"{value:,.1f}"


def _name(part: str) -> str:
    """Format the name of a part, which comes from a log, on one line and without control characters."""
    if not part:
        return "(none)"
    return part if part.isprintable() and len(part) <= WIDEST else printable(part)
