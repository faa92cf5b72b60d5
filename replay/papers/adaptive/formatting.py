"""The formatting of shares and comparisons, with a dash for missing values."""

NOT_REACHED = "–"


def share(value: float | None) -> str:
    """Format a share in per cent, with one decimal.

    >>> share(0.0333), share(None)
    ('3.3 %', '–')
    """
    return NOT_REACHED if value is None else f"{100 * value:.1f} %"


def fewer(value: float | None, than: float | None) -> str:
    """Format the decrease of a value relative to another, in percent; negative for an increase.

    >>> fewer(20.0, 50.0), fewer(11.0, 10.0), fewer(None, 10.0)
    ('60 %', '-10 %', '–')
    """
    if value is None or not than:
        return NOT_REACHED
    return f"{100 * (1 - value / than):.0f} %"


def ratio(value: float | None, of: float | None) -> float | None:
    """Return the ratio of two values; None if one is missing.

    >>> ratio(3.0, 4.0), ratio(None, 4.0)
    (0.75, None)
    """
    return None if value is None or not of else value / of


def number(value: float | None, form: str = ".2f") -> str:
    """Format a number, by default with two decimals.

    >>> number(0.754), number(12345.6, ",.0f"), number(None)
    ('0.75', '12,346', '–')
    """
    return NOT_REACHED if value is None else format(value, form)
