import doctest

from bestbefore.replay.papers import claims
from bestbefore.replay.report.page import Page


def test_verdicts_are_as_the_examples_say() -> None:
    assert doctest.testmod(claims) == (0, 1)


def test_what_could_not_be_seen_is_neither_less_nor_more() -> None:
    assert [claims.less(1.0, 2.0), claims.less(2.0, 2.0), claims.less(None, 2.0), claims.less(1.0, None)] == [
        True, False, None, None,
    ]
    assert [claims.clearly_less(8.9, 10.0), claims.clearly_less(9.5, 10.0), claims.clearly_less(None, 1.0)] == [
        True, False, None,
    ]
    assert [claims.slightly_less(value, 10.0) for value in (8.9, 9.5, 10.0, None)] == [False, True, False, None]


def test_the_table_of_claims_has_a_row_for_each() -> None:
    page = Page("name", "made by a test")
    claims.write_claims(page, [claims.Claim("Table 1", "less", "more", "fewer", "no")])
    assert "| where | finding of the paper | ours | holds if | holds |" in page.markdown
    assert "| Table 1 | less | more | fewer | no |" in page.markdown
