import doctest

from bestbefore.replay.report import formatting


def test_names_and_numbers_are_as_the_examples_say() -> None:
    assert doctest.testmod(formatting).failed == 0
    assert doctest.testmod(formatting).attempted == 3
