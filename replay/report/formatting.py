"""The formatting of names and numbers in reports."""


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
