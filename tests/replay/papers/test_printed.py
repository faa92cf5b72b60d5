import doctest

from bestbefore.replay.papers import printed
from bestbefore.replay.papers.printed import beside, rows_beside


def test_ours_has_one_digit_more_than_what_is_printed() -> None:
    assert beside("0.84", 0.83494) == ("0.84", "0.835", "-0.005")
    assert beside("5.6", 5.592) == ("5.6", "5.59", "-0.01")


def test_no_difference_has_no_minus() -> None:
    assert beside("1.15", 1.1499) == ("1.15", "1.150", "+0.000")


def test_each_value_has_a_row() -> None:
    assert rows_beside(["e1", "e2"], ["1", "2"], [1.0, 2.5]) == [("e1", "1", "1.0", "+0.0"), ("e2", "2", "2.5", "+0.5")]


def test_cells_are_as_the_examples_say() -> None:
    assert doctest.testmod(printed) == (0, 2)
