import doctest

from bestbefore.replay.papers import claims
from bestbefore.replay.report.page import Page


def test_verdicts_are_as_the_examples_say() -> None:
    assert doctest.testmod(claims) == (0, 1)


def test_what_could_not_be_seen_is_neither_less_nor_more() -> None:
    assert [claims.less(1.0, 2.0), claims.less(2.0, 2.0), claims.less(None, 2.0), claims.less(1.0, None)] == [
        True, False, None, None,
    ]


def test_the_table_of_claims_has_a_row_for_each() -> None:
    page = Page("name", "made by a test")
    claims.write_claims(page, [claims.Claim("Table 1", "less", "more", "no")])
    assert "| where | finding of the paper | ours | holds |" in page.markdown
    assert "| Table 1 | less | more | no |" in page.markdown
