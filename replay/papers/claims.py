"""The claims of a paper on a figure or table, beside what our traces show."""

from dataclasses import dataclass

NOT_SEEN = "–"


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the paper."""

    where: str
    printed: str
    ours: str
    verdict: str
    """`yes`, `partly`, `no`, or `NOT_SEEN`."""


def verdict(*held: bool | None) -> str:
    """Return from where a finding held; None: it could not be seen there.

    >>> verdict(True, None), verdict(True, False), verdict(False), verdict(None)
    ('yes', 'partly', 'no', '–')
    """
    seen = [one for one in held if one is not None]
    if not seen:
        return NOT_SEEN
    return "yes" if all(seen) else "partly" if any(seen) else "no"


def less(value: float | None, than: float | None) -> bool | None:
    """Whether one is less than another; None where one could not be seen."""
    return None if value is None or than is None else value < than
