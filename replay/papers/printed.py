"""Table cells that compare values printed in a paper with ours."""

from collections.abc import Sequence

HEADS = ("printed", "ours", "difference")


def beside(printed: str, ours: float) -> tuple[str, str, str]:
    """Return the printed value, ours with one more digit, and the difference, ours less printed.

    >>> beside("1.15", 1.1469), beside("400", 400.97)
    (('1.15', '1.147', '-0.003'), ('400', '401.0', '+1.0'))
    """
    digits = len(printed.partition(".")[2]) + 1
    return printed, f"{ours:.{digits}f}", f"{ours - float(printed):+z.{digits}f}"


def minutes(seconds: float | None) -> str:
    """Format a time in minutes.

    >>> minutes(90.0), minutes(None)
    ('1.5', '–')
    """
    return "–" if seconds is None else f"{seconds / 60:.1f}"


def rows_beside(what: Sequence[str], printed: Sequence[str], ours: Sequence[float]) -> list[tuple[str, ...]]:
    """Return a row for each value: its name, then the three cells of `beside`."""
    return [(name, *beside(text, value)) for name, text, value in zip(what, printed, ours, strict=True)]
