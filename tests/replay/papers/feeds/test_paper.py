"""The whole page, made once of small traces: what it holds, not what its numbers are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.replay.papers.feeds import online
from bestbefore.replay.papers.feeds.paper import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

pytestmark = pytest.mark.slow

SECTIONS = (
    "Examples 1 and 2, theorem 3",
    "The feeds, and figure 7",
    "Table 1: the delay at one retrieval a day of a feed",
    "Figure 13: the delay against the number of retrievals, and what is better than the paper",
    "Without a plan: which rates, and on which feeds",
    "All postings",
    "Against feed readers and crawlers at the same number of retrievals",
    "Table 2: allocations for crawlers",
    "Section 4.6: what sending only new postings would save",
    "Weights",
    "Burstiness",
    "Figures 10 and 12: the hours at which feeds post",
    "Figures 8, 9 and 11: how long a history to learn from",
    "Where our traces agree with the paper and where they do not",
)


class Sparse(Schedule):
    """A schedule with a ninetieth of the budget, so that a page takes seconds and has the same sections."""

    def __init__(self, objective: str, budget_per_hour: float, now_s: float) -> None:
        super().__init__(objective, budget_per_hour / 90.0, now_s)


@pytest.fixture(scope="module")
def written(postings_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = Page("feeds", "made here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online, "Schedule", Sparse)
        write(Work(postings_folder, pytest.fail, jobs=1), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_each_table_and_figure_of_the_paper_has_a_section(written: Path) -> None:
    assert tuple(re.findall(r"^## (.*)$", written.read_text(), re.MULTILINE)) == SECTIONS


def test_its_tables_are_even_and_its_figures_lie_beside_it(
    written: Path, check_page: Callable[[Path], tuple[int, set[str]]]
) -> None:
    tables, figures = check_page(written)
    assert tables
    assert {f"feeds_figure_{number}.svg" for number in (5, 7, 8, 10, 11, 12, 13)} <= figures


def test_the_printed_values_stand_beside_ours(written: Path) -> None:
    text = written.read_text()
    for printed in ("645", "581", "433", "395", "9120", "10073", "590", "40105", "64"):
        assert f"| {printed} |" in text


def test_every_point_of_a_plan_fulfils_theorem_3(written: Path) -> None:
    [(points, fulfilled)] = re.findall(r"of the (\d+) points of `retrieval_points` (\d+) fulfil", written.read_text())
    assert points == fulfilled
