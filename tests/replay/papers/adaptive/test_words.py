import doctest

from bestbefore.replay.papers.adaptive import multiples, words


def test_words_are_as_the_examples_say() -> None:
    assert doctest.testmod(words) == (0, 4)


def test_spreads_are_as_the_examples_say() -> None:
    assert doctest.testmod(multiples) == (0, 1)
