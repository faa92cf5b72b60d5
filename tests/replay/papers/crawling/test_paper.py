"""The whole page, of few pages and slots: what it holds, not what its numbers are."""

import re
from pathlib import Path

import pytest

from bestbefore.replay.papers.crawling import embarrassment, heavy_tail, mixtures, slots
from bestbefore.replay.papers.crawling.paper import write
from bestbefore.replay.papers.page import Page
from bestbefore.replay.papers.work import Work


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        for module in (embarrassment, heavy_tail, mixtures):
            patch.setattr(module, "PAGES", 300)
        patch.setattr(mixtures, "SIZES", (100, 200))
        patch.setattr(slots, "SLOTS_EACH", 400)
        patch.setattr(slots, "FEWER_SLOTS", 200)
        page = Page("crawling", "made here")
        write(Work(None, pytest.fail), page)
    return page.write(tmp_path_factory.mktemp("results"))


def test_each_figure_of_the_paper_has_a_section(written: Path) -> None:
    headings = re.findall(r"^## Figure (\d+): ", written.read_text(), re.MULTILINE)
    assert headings == ["7", "8", "9", "10"]


def test_each_row_of_a_table_has_a_cell_for_each_head(written: Path) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", written.read_text(), re.MULTILINE)
    assert len(tables) == 15
    for table in tables:
        assert len({row.count("|") for row in table.splitlines()}) == 1, table
        assert "nan" not in table


def test_the_figures_lie_beside_the_page(written: Path) -> None:
    named = set(re.findall(r"\]\((\S+\.svg)\)", written.read_text()))
    assert named == {path.name for path in written.parent.glob("*.svg")}
    assert len(named) == 10
