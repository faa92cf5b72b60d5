import doctest

from bestbefore.replay.report import formatting


def test_names_numbers_and_tables_are_as_the_examples_say() -> None:
    assert doctest.testmod(formatting).failed == 0
    assert doctest.testmod(formatting).attempted == 4
