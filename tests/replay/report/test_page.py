from pathlib import Path

import pytest

from bestbefore.replay.report.page import Page


def page() -> Page:
    page = Page("adaptive", "`bestbefore papers`, 2026-11-20, 2 cores")
    page.title("A paper")
    page.text("One\n   paragraph.", "Another.")
    page.table(("policy", "hits"), [("ttl", "12"), ("indhist", "3")])
    page.figure("figure_1", "Figure 1: hits", "<svg/>")
    page.items("one", "two\n three")
    return page


def test_each_table_and_figure_says_how_it_was_made() -> None:
    assert page().markdown == (
        "# A paper\n\nOne paragraph.\n\nAnother.\n\n"
        "| policy | hits |\n| --- | ---: |\n| ttl | 12 |\n| indhist | 3 |\n\n"
        "*`bestbefore papers`, 2026-11-20, 2 cores*\n\n"
        "![Figure 1: hits](adaptive_figure_1.svg)\n\n"
        "*Figure 1: hits. `bestbefore papers`, 2026-11-20, 2 cores*\n\n"
        "- one\n- two three\n"
    )


def test_a_part_stands_where_it_was_begun(tmp_path: Path) -> None:
    page = Page("adaptive", "made here")
    page.title("A paper")
    summary, empty = page.part(), page.part()
    page.text("Beneath.")
    summary.figure("figure_1", "Figure 1: hits", "<svg/>")
    assert empty.markdown == "\n"
    assert page.markdown == (
        "# A paper\n\n![Figure 1: hits](adaptive_figure_1.svg)\n\n*Figure 1: hits. made here*\n\nBeneath.\n"
    )
    page.write(tmp_path)
    assert (tmp_path / "adaptive_figure_1.svg").read_text() == "<svg/>"


def test_the_page_and_its_figures_are_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    assert page().write(tmp_path / "new" / "results") == tmp_path / "new" / "results" / "adaptive.md"
    names = sorted(path.name for path in (tmp_path / "new" / "results").iterdir())
    assert names == ["adaptive.md", "adaptive_figure_1.svg"]
    assert (tmp_path / "new" / "results" / "adaptive_figure_1.svg").read_text() == "<svg/>"


def test_a_page_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "adaptive.md").symlink_to("elsewhere.md")
    page().write(tmp_path)
    assert (tmp_path / "adaptive.md").is_symlink()
    assert (tmp_path / "elsewhere.md").read_text() == page().markdown


def test_what_cannot_be_written_leaves_no_part_behind(tmp_path: Path) -> None:
    (tmp_path / "adaptive.md").mkdir()
    with pytest.raises(IsADirectoryError):
        page().write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adaptive.md", "adaptive_figure_1.svg"]
