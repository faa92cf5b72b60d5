import pytest

from bestbefore.replay.papers.adaptive.sections.examples import aggregate_example, individual_example, write
from bestbefore.replay.report.page import Page


def test_the_example_of_section_4_2() -> None:
    assert aggregate_example() == pytest.approx(6 * 0.2381 + 0.5207)
    assert round(aggregate_example(), 2) == 1.95


def test_the_example_of_section_4_3() -> None:
    assert individual_example() == pytest.approx(0.5625)


def test_printed_and_found_stand_beside_each_other() -> None:
    page = Page("adaptive", "made")
    write(page)
    assert "| 0.5625 | 0.5625 |" in page.markdown
    assert "| 1.95 | 1.9493 |" in page.markdown
