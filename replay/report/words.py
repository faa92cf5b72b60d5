"""Names and numbers as people read them in reports."""


def words(name: str) -> str:
    """The name of a count, with its unit at the end.

    >>> words("stale_hits"), words("mean_delay_s")
    ('stale hits', 'mean delay, s')
    """
    unit = ", s" if name.endswith("_s") else ""
    return name.removesuffix("_s").replace("_", " ") + unit


def number(value: float) -> str:
    """A count, or a time in seconds with three digits or more.

    >>> number(4230), number(143.6837), number(0.0123456)
    ('4,230', '143.7', '0.0123')
    """
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 10.0 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in per cent, with three digits.

    >>> percent(0.0123456), percent(1)
    ('1.23 %', '100 %')
    """
    return f"{100 * share:.3g} %"
