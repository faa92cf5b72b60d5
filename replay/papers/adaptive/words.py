"""The wording of shares and comparisons, and of what was not reached."""

NOT_REACHED = "–"


def share(value: float | None) -> str:
    """Format a share in per cent, with one decimal.

    >>> share(0.0333), share(None)
    ('3.3 %', '–')
    """
    return NOT_REACHED if value is None else f"{100 * value:.1f} %"


def count_or_dash(value: float | None) -> str:
    """Format a count, rounded; a dash for none.

    >>> count_or_dash(12345.6), count_or_dash(None)
    ('12,346', '–')
    """
    return NOT_REACHED if value is None else f"{value:,.0f}"


def fewer(value: float | None, than: float | None) -> str:
    """Format by how much less one is than another, in per cent; more, with a minus.

    >>> fewer(20.0, 50.0), fewer(11.0, 10.0), fewer(None, 10.0)
    ('60 %', '-10 %', '–')
    """
    if value is None or not than:
        return NOT_REACHED
    return f"{100 * (1 - value / than):.0f} %"


def ratio(value: float | None, of: float | None) -> float | None:
    """Return how many times another one is; None where one was not reached.

    >>> ratio(3.0, 4.0), ratio(None, 4.0)
    (0.75, None)
    """
    return None if value is None or not of else value / of


def number(value: float | None) -> str:
    """Format a number with two decimals.

    >>> number(0.754), number(None)
    ('0.75', '–')
    """
    return NOT_REACHED if value is None else f"{value:.2f}"


def three_digits(value: float | None) -> str:
    """Format a number with three decimals.

    >>> three_digits(0.0984), three_digits(None)
    ('0.098', '–')
    """
    return NOT_REACHED if value is None else f"{value:.3f}"
