import doctest

from bestbefore.replay.report import words


def test_names_and_numbers_are_as_the_examples_say() -> None:
    assert doctest.testmod(words).failed == 0
    assert doctest.testmod(words).attempted == 3
