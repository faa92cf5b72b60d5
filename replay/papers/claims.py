"""The findings of a paper, each with the corresponding result on our traces."""

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


def less(value: float | None, than: float | None) -> bool | None:
    """Whether a value is less than another; None if one of them is missing."""
    return None if value is None or than is None else value < than


def write_claims(page: Page, claims: Iterable[Claim]) -> None:
    """Add the table of the findings."""
    page.table(("where", "finding of the paper", "ours", "holds"), [astuple(claim) for claim in claims], words=4)
