from fractions import Fraction

import pytest

from bestbefore.replay.papers.refresh.two_elements import ROWS, benefit, benefit_in_interval, best


def test_one_refresh_in_the_middle_helps_for_a_quarter_of_the_interval() -> None:
    assert benefit_in_interval(0) == 0
    assert benefit_in_interval(1) == Fraction(1, 4)
    # at 1/3 and 2/3: a third of the time 2/3 remains, a third of the time 1/3
    assert benefit_in_interval(2) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("letter", "in_72nds"),
    [("a", 2), ("b", 18), ("c", 4), ("d", 20), ("e", 24), ("f", 30), ("g", 31), ("h", 36), ("i", 41), ("j", 40)],
)
def test_the_benefits_of_the_table(letter: str, in_72nds: int) -> None:
    row = next(row for row in ROWS if row.letter == letter)
    assert benefit(row.refreshes) == Fraction(in_72nds, 72)


def test_more_refreshes_than_intervals_are_spread_over_them() -> None:
    assert benefit((10, 0)) == (8 * Fraction(1, 4) + Fraction(1, 3)) / 9


def test_the_best_choices_are_those_of_the_table() -> None:
    assert [best(total) for total in (1, 2, 5, 10)] == [(0, 1), (0, 2), (2, 3), (7, 3)]
