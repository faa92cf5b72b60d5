"""The whole page, of small simulations: what it holds, not what its numbers are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.replay.papers.multicast.paper import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

pytestmark = pytest.mark.slow

SECTIONS = (
    "Figures 4 to 7: freshness and age of subscribers",
    "Tables 2 to 4: which scheduler for subscribers",
    "Figures 8 and 9: downloaders beside 100 subscribers",
    "Tables 5 and 6: which scheduler beside downloaders",
    "Sections 5.3 and 6.2: change intervals, skew, RxC",
    "What the paper leaves open",
    "What cannot hold together",
)


@pytest.fixture(scope="module")
def written(small: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = Page("multicast", "made here")
    write(Work(None, pytest.fail), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_each_figure_and_table_of_the_paper_has_a_section(written: Path) -> None:
    assert tuple(re.findall(r"^## (.*)$", written.read_text(), re.MULTILINE)) == SECTIONS


def test_its_tables_are_even_and_its_figures_lie_beside_it(
    written: Path, check_page: Callable[[Path], tuple[int, set[str]]]
) -> None:
    tables, figures = check_page(written)
    assert tables > 15
    assert figures == {f"multicast_{number}.svg" for number in range(4, 10)}


def test_the_printed_values_stand_beside_ours(written: Path) -> None:
    text = written.read_text()
    for printed in ("0.865", "0.787", "0.53", "0.55", "0.62", "0.48", "0.43", "1.05", "4.2", "6.6", "21.2", "0.922",
                    "0.855", "0.84", "0.85", "0.81", "0.73", "0.74"):
        assert f"| {printed} |" in text
