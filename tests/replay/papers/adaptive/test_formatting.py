import doctest

from bestbefore.replay.papers.adaptive import formatting, multiples


def test_values_are_formatted_as_the_examples_say() -> None:
    assert doctest.testmod(formatting) == (0, 4)


def test_spreads_are_as_the_examples_say() -> None:
    assert doctest.testmod(multiples) == (0, 1)
