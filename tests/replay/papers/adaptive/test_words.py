import doctest

from bestbefore.replay.papers.adaptive import claims, curves, words


def test_words_are_as_the_examples_say() -> None:
    assert doctest.testmod(words) == (0, 5)


def test_verdicts_and_crossings_are_as_the_examples_say() -> None:
    assert doctest.testmod(claims) == (0, 1)
    assert doctest.testmod(curves) == (0, 1)
