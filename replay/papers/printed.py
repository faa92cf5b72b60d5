"""A value printed in a paper, beside ours."""

from collections.abc import Sequence

HEADS = ("printed", "ours", "difference")


def beside(printed: str, ours: float) -> tuple[str, str, str]:
    """Return the printed value, ours with a digit more, and by how much ours is larger: +0, if it rounds to 0.

    >>> beside("1.15", 1.1469), beside("400", 400.97)
    (('1.15', '1.147', '-0.003'), ('400', '401.0', '+1.0'))
    """
    digits = len(printed.partition(".")[2]) + 1
    return printed, f"{ours:.{digits}f}", f"{ours - float(printed):+z.{digits}f}"


def rows_beside(what: Sequence[str], printed: Sequence[str], ours: Sequence[float]) -> list[tuple[str, ...]]:
    """A row for each value: what it is, and the three of `beside`."""
    return [(name, *beside(text, value)) for name, text, value in zip(what, printed, ours, strict=True)]
