"""Agreement tables: what a paper asks for beside what is measured, with a tolerance from which the verdict follows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bestbefore.replay.papers.claims import NOT_SEEN, verdict
from bestbefore.replay.papers.printed import beside
from bestbefore.replay.report.page import Page

HEADS = ("where", "asked", "measured", "tolerance", "agrees")
ONE_UNIT = "1 unit of the last digit"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A value or finding of a paper, and whether ours agrees with it."""

    where: str
    """The figure, table or section of the paper."""
    asked: str
    measured: str
    tolerance: str
    verdict: str
    """`yes`, `partly`, `no`, or `NOT_SEEN`."""

    def row(self) -> tuple[str, ...]:
        """Return the row of the table."""
        return self.where, self.asked, self.measured, self.tolerance, self.verdict


def value(where: str, what: str, printed: str, ours: float) -> Agreement:
    """Compare a printed value: it agrees within one unit of its last printed digit, rounded or truncated."""
    unit = 10.0 ** -len(printed.partition(".")[2])
    _, shown, _ = beside(printed, ours)
    return Agreement(where, f"{what}: {printed}", shown, ONE_UNIT, verdict(abs(ours - float(printed)) <= unit + 1e-9))


def in_words(held: Sequence[bool]) -> str:
    """Return in how many of the cases a finding holds.

    >>> in_words([True, False, True])
    '2 of 3'
    """
    return f"{sum(held)} of {len(held)}"


def at_all(where: str, what: str, held: Sequence[bool]) -> Agreement:
    """Judge a finding for several cases: `yes` if it holds in all, `no` if in none."""
    return Agreement(where, what, in_words(held), "in all cases", verdict(*held))


def bound(
    where: str, what: str, ours: float, *, least: float | None = None, most: float | None = None, digits: int = 3
) -> Agreement:
    """Judge a number by bounds that the tolerance column states."""
    limits = [f"{sign} {limit:g}" for sign, limit in (("≥", least), ("≤", most)) if limit is not None]
    held = (least is None or ours >= least) and (most is None or ours <= most)
    return Agreement(where, what, f"{ours:.{digits}f}", ", ".join(limits), verdict(held))


def write_agreements(page: Page, agreements: Iterable[Agreement]) -> None:
    """Add the section with the table of all that was judged, and how many agree."""
    rows = list(agreements)
    judged = [one for one in rows if one.verdict != NOT_SEEN]
    counts = {name: sum(one.verdict == name for one in judged) for name in ("yes", "partly", "no")}
    page.section("Agreement")
    page.text(
        f"""What the paper prints or says, what is measured below, and whether it lies within the tolerance beside it:
        {counts["yes"]} of {len(judged)} agree, {counts["partly"]} partly (in some of the cases), {counts["no"]} do
        not."""
    )
    page.table(HEADS, [one.row() for one in rows], words=2)
