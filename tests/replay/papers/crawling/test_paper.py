"""The whole page, of few pages and slots: what it holds, not what its numbers are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.replay.papers.crawling import embarrassment, heavy_tail, mixtures, slots, uncrawled
from bestbefore.replay.papers.crawling.paper import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        for module in (embarrassment, heavy_tail, mixtures, uncrawled):
            patch.setattr(module, "PAGES", 300)
        patch.setattr(mixtures, "SIZES", (100, 200))
        patch.setattr(slots, "SLOTS_EACH", 400)
        patch.setattr(slots, "FEWER_SLOTS", 200)
        page = Page("crawling", "made here")
        write(Work(None, pytest.fail), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_each_figure_of_the_paper_has_a_section(written: Path) -> None:
    headings = re.findall(r"^## Figure (\d+)", written.read_text(), re.MULTILINE)
    assert headings == ["7", "7", "8", "9", "10"]


def test_its_tables_are_even_and_its_figures_lie_beside_it(
    written: Path, check_page: Callable[[Path], tuple[int, set[str]]]
) -> None:
    tables, figures = check_page(written)
    assert (tables, len(figures)) == (19, 10)
