"""The whole page, made once of the excerpt: what it holds, not what its numbers are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.replay.papers.adaptive.paper import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

pytestmark = pytest.mark.slow

SECTIONS = (
    "Where our traces agree with the paper and where they do not",
    "The worked examples of sections 4.2 and 4.3",
    "Table 1: the aggregate history",
    "Figure 5: errors of the estimated number of updates",
    "Table 2: updates per refresh with IndHist, expected and actual",
    "Figure 6: refreshes against the mean delay",
    "Figure 7: stale hits against validations, cyclic objects",
    "Figure 8: stale hits against validations, bursty objects",
    "Figure 9: adaptive IndHist/AggHist, and limited histories",
    "Figure 10: adaptive IndHist/TTL, windows of an hour and a day, limited histories",
    "Is plain TTL hard to beat with one shared cache?",
)


@pytest.fixture(scope="module")
def written(few_values: None, excerpt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = Page("adaptive", "made here")
    write(Work(excerpt, pytest.fail, jobs=1), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_each_table_and_figure_of_the_paper_has_a_section(written: Path) -> None:
    headings = re.findall(r"^## (.*)$", written.read_text(), re.MULTILINE)
    assert [section for section in SECTIONS if section not in headings] == []
    assert headings[0] == SECTIONS[0]


def test_each_table_is_followed_by_how_it_was_made(written: Path) -> None:
    tables = re.findall(r"(?:^\|.*\n)+\n(.*)\n", written.read_text(), re.MULTILINE)
    assert len(tables) > 10
    assert set(tables) == {"*made here*"}


def test_its_tables_are_even_and_its_figures_lie_beside_it(
    written: Path, check_page: Callable[[Path], tuple[int, set[str]]]
) -> None:
    tables, figures = check_page(written)
    assert tables > 10
    assert len(figures) >= 7


def test_each_finding_has_a_verdict(written: Path) -> None:
    table = written.read_text().partition("| where | finding of the paper |")[2].partition("\n\n")[0]
    verdicts = [row.split("|")[-2].strip() for row in table.splitlines()[2:]]
    assert len(verdicts) == 18
    assert set(verdicts) <= {"yes", "partly", "no", "–"}
