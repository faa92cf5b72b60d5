"""The whole page, simulated with few pages: what it holds, and the printed values that stand in it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.replay.papers.refresh import crawled, orders
from bestbefore.replay.papers.refresh.paper import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "SWEEPS", 20)
        patch.setattr(crawled, "SIMULATED_PAGES", 50)
        page = Page("refresh", "made here")
        write(Work(None, pytest.fail), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_agreement_is_counted_before_all_else(written: Path) -> None:
    before, _, _ = written.read_text().partition("## Table II:")
    rows = re.findall(r"^\| .* \| (yes|partly|no) \|$", before, re.MULTILINE)
    assert f"{rows.count('yes')} of {len(rows)} agree" in before


def test_each_table_and_figure_of_the_paper_has_a_section(written: Path) -> None:
    headings = " ".join(re.findall(r"^## (.*)$", written.read_text(), re.MULTILINE))
    for what in ("Table II:", "Table III:", "Table IV", "Table V", "Table VII:",
                 "Figure 9:", "Figure 11:", "Figure 13:", "Figure 15:", "Figure 18:"):
        assert what in headings


def test_its_tables_are_even_and_its_figures_lie_beside_it(
    written: Path, check_page: Callable[[Path], tuple[int, set[str]]]
) -> None:
    tables, figures = check_page(written)
    assert tables
    assert len(figures) == 9


def test_the_values_of_table_vii_stand_beside_those_printed(written: Path) -> None:
    for row in (
        "| proportional, freshness | 0.12 | 0.129 | +0.009 |",
        "| proportional, age in days | 400 | 401.0 | +1.0 |",
        "| uniform, freshness | 0.57 | 0.575 | +0.005 |",
        "| optimal, freshness | 0.62 | 0.617 | -0.003 |",
        "| optimal, age in days | 4.3 | 4.28 | -0.02 |",
    ):
        assert row in written.read_text()


def test_what_shares_give_com_and_gov_is_said_to_be_fitted(written: Path) -> None:
    text = written.read_text()
    assert "2 give the four values" in text
    assert "com, 40 % daily: 40 / 25 / 6 / 17 / 12 %" in text
    assert "com, any: 44 / 20 / 2 / 26 / 8 %" in text
    assert "**fitted**" in text
