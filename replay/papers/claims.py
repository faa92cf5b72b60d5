"""The findings of a paper, each with the corresponding result on our traces, and whether it holds."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from bestbefore.replay.report.page import Page

NOT_SEEN = "–"


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the paper and our result."""

    where: str
    """The figure, table or section of the paper."""
    printed: str
    """The finding of the paper."""
    ours: str
    """The result on our traces."""
    tolerance: str
    """The condition for it to hold; if there are several results, for each of them."""
    verdict: str
    """Whether it holds: `yes`, `partly`, `no`, or `NOT_SEEN`."""


def verdict(*held: bool | None) -> str:
    """Return whether a finding holds, from its results on several traces; None: it could not be tested.

    >>> verdict(True, None), verdict(True, False), verdict(False), verdict(None)
    ('yes', 'partly', 'no', '–')
    """
    seen = [one for one in held if one is not None]
    if not seen:
        return NOT_SEEN
    return "yes" if all(seen) else "partly" if any(seen) else "no"


CLEARLY = 0.1
"""The least difference, as a share of the larger value, that is called clear."""


def less(value: float | None, than: float | None) -> bool | None:
    """Whether a value is less than another; None if one of them is missing."""
    return None if value is None or than is None else value < than


def clearly_less(value: float | None, than: float | None) -> bool | None:
    """Whether a value is less than another by `CLEARLY` or more; None if one of them is missing."""
    return None if value is None or than is None else value <= (1.0 - CLEARLY) * than


def slightly_less(value: float | None, than: float | None) -> bool | None:
    """Whether a value is less than another, but not clearly; None if one of them is missing."""
    return None if value is None or than is None else (1.0 - CLEARLY) * than < value < than


def write_claims(page: Page, claims: Iterable[Claim]) -> None:
    """Add the table of the findings."""
    heads = ("where", "finding of the paper", "ours", "holds if", "holds")
    page.table(heads, [astuple(claim) for claim in claims], words=len(heads))
