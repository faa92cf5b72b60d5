import doctest

import pytest

from bestbefore.replay.papers import agreement
from bestbefore.replay.papers.agreement import Agreement, at_all, bound, value, write_agreements
from bestbefore.replay.report.page import Page


def test_cases_are_counted_as_the_examples_say() -> None:
    assert doctest.testmod(agreement) == (0, 1)


@pytest.mark.parametrize(
    ("printed", "ours", "agrees"),
    [("0.12", 0.1288, "yes"), ("0.12", 0.1301, "no"), ("0.12", 0.11, "yes"), ("400", 401.0, "yes"), ("30", 26.4, "no")],
)
def test_a_printed_value_agrees_within_a_unit_of_its_last_digit(printed: str, ours: float, agrees: str) -> None:
    assert value("Table I", "share", printed, ours).verdict == agrees


def test_a_finding_agrees_in_all_cases_or_partly() -> None:
    assert [at_all("Figure 1", "less", held).verdict for held in ([True, True], [True, False], [False])] == [
        "yes", "partly", "no",
    ]


def test_bounds_stand_in_the_tolerance() -> None:
    within = bound("Figure 1", "flat", 1.05, least=0.9, most=1.1, digits=2)
    assert within == Agreement("Figure 1", "flat", "1.05", "≥ 0.9, ≤ 1.1", "yes")
    assert bound("Figure 1", "flat", 1.2, most=1.1).verdict == "no"


def test_what_cannot_be_judged_is_listed_and_not_counted() -> None:
    page = Page("name", "made by a test")
    write_agreements(page, [value("Table I", "share", "1", 1.0), Agreement("Figure 2", "much", "1 %", "none", "–")])
    assert "1 of 1 agree, 0 partly (in some of the cases), 0 do not." in page.markdown
    assert "| Figure 2 | much | 1 % | none | – |" in page.markdown
