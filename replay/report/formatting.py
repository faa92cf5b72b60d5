"""The formatting of names, numbers and text tables in reports."""

from collections.abc import Iterator, Sequence


def words(name: str) -> str:
    """Format the name of a count in words, with its unit at the end.

    >>> words("stale_hits"), words("mean_delay_s")
    ('stale hits', 'mean delay, s')
    """
    unit = ", s" if name.endswith("_s") else ""
    return name.removesuffix("_s").replace("_", " ") + unit


def number(value: float) -> str:
    """Format a count, or a time in seconds with three digits or more.

    >>> number(4230), number(143.6837), number(0.0123456)
    ('4,230', '143.7', '0.0123')
    """
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 10.0 else f"{value:.3g}"


def percent(share: float) -> str:
    """Format a share in percent with three digits.

    >>> percent(0.0123456), percent(1)
    ('1.23 %', '100 %')
    """
    return f"{100 * share:.3g} %"


def aligned(rows: Sequence[Sequence[str]], words: int) -> Iterator[str]:
    """Yield the lines of a text table: the first `words` columns aligned to the left, the others to the right.

    >>> list(aligned([("domain", "hits"), ("a", "1,000")], words=1))
    ['domain   hits', 'a       1,000']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(cell.ljust(w) if i < words else cell.rjust(w) for i, (cell, w) in cells).rstrip()
