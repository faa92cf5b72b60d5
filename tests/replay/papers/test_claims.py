import doctest

from bestbefore.replay.papers import claims


def test_verdicts_are_as_the_examples_say() -> None:
    assert doctest.testmod(claims) == (0, 1)


def test_what_could_not_be_seen_is_neither_less_nor_more() -> None:
    assert [claims.less(1.0, 2.0), claims.less(2.0, 2.0), claims.less(None, 2.0), claims.less(1.0, None)] == [
        True, False, None, None,
    ]
