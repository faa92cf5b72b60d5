"""Table III: the benefit of synchronising two elements, of which one changes 9 times a day and the other once."""

from fractions import Fraction
from typing import NamedTuple

from bestbefore.replay.papers.agreement import Agreement, at_all
from bestbefore.replay.papers.claims import verdict
from bestbefore.replay.report.page import Page

CHANGES_PER_DAY = (9, 1)


class Row(NamedTuple):
    """A row of the table: a choice of refreshes."""

    letter: str
    refreshes: tuple[int, int]
    printed: str
    """The printed benefit; empty where it is illegible in our copy of the paper."""


ROWS = (
    Row("a", (1, 0), "1/36"),
    Row("b", (0, 1), "1/4"),
    Row("c", (2, 0), ""),
    Row("d", (1, 1), "10/36"),
    Row("e", (0, 2), ""),
    Row("f", (3, 2), ""),
    Row("g", (2, 3), ""),
    Row("h", (9, 1), ""),
    Row("i", (7, 3), ""),
    Row("j", (5, 5), ""),
)


def benefit_in_interval(refreshes: int) -> Fraction:
    """The expected share of an interval with exactly one change for which refreshes keep the element fresh after it.

    The refreshes divide the interval evenly: the j-th of n, at j / (n+1), is the first after the change with
    probability 1 / (n+1), and then 1 - j / (n+1) of the interval remains. The sum is n / (2 (n+1)).
    """
    return Fraction(refreshes, 2 * (refreshes + 1))


def benefit(refreshes: tuple[int, int]) -> Fraction:
    """The benefit of both elements in days; the refreshes of each are spread evenly over its intervals."""
    total = Fraction(0)
    for count, intervals in zip(refreshes, CHANGES_PER_DAY, strict=True):
        each, more = divmod(count, intervals)
        total += (more * benefit_in_interval(each + 1) + (intervals - more) * benefit_in_interval(each)) / intervals
    return total


def best(together: int) -> tuple[int, int]:
    """The division of `together` refreshes with the largest benefit; of equals the one with more for the second."""
    return max(((first, together - first) for first in range(together + 1)), key=benefit)


def write(page: Page) -> list[Agreement]:
    """Write the section on two elements."""
    page.section("Table III: estimation of benefits for different choices")
    page.text(
        """Two elements: the first changes once in each ninth of a day, the second once a day, at an unknown moment.
        With n refreshes that divide an interval evenly, the copy is fresh for an additional n / (2 (n+1)) of it: 1/4 of
        a day and 1/36 of a day for one refresh, as section 5.2 derives. In our copy of the paper the fractions of the
        table are damaged: 10/36 can be read, and 1/36 and 1/4 in section 5.2."""
    )
    page.table(
        ("row", "refreshes in all", "first, second", "benefit printed", "ours, days", "ours", "best choice, ours"),
        [
            (
                row.letter, str(sum(row.refreshes)), f"{row.refreshes[0]}, {row.refreshes[1]}", row.printed or "–",
                fraction_shown(benefit(row.refreshes)), f"{float(benefit(row.refreshes)):.4f}",
                "this" if best(sum(row.refreshes)) == row.refreshes else "{}, {}".format(*best(sum(row.refreshes))),
            )
            for row in ROWS
        ],
    )
    by_letter = {row.letter: benefit(row.refreshes) for row in ROWS}
    return [
        *(
            Agreement(
                "Table III", f"row {row.letter}: {row.printed} of a day", fraction_shown(by_letter[row.letter]),
                "exact", verdict(by_letter[row.letter] == Fraction(row.printed)),
            )
            for row in ROWS if row.printed
        ),
        at_all("section 5.2", "the first element gets no refresh of one or two", [best(n)[0] == 0 for n in (1, 2)]),
        at_all("section 5.2", "of ten, uniform (j) is better than proportional (h), and (i) the best",
               [by_letter["h"] < by_letter["j"], by_letter["i"] == benefit(best(10))]),
    ]


def fraction_shown(value: Fraction) -> str:
    """Format a fraction in 36ths, or in 72nds, as a day of nine intervals gives them.

    >>> fraction_shown(Fraction(1, 4)), fraction_shown(Fraction(31, 72))
    ('9/36', '31/72')
    """
    whole = 36 if (value * 36).denominator == 1 else 72
    return f"{value * whole}/{whole}"
