import numpy as np
import pytest

from bestbefore.replay.papers.crawling import uncrawled
from bestbefore.replay.papers.crawling.pages import Kind, Pages
from bestbefore.replay.papers.crawling.uncrawled import embarrassments, rounded_down, write
from bestbefore.replay.report.page import Page


def test_numbers_are_rounded_down() -> None:
    assert rounded_down(np.array([1.0, 2.0, 5.0]), 7).tolist() == [0, 1, 4]


def test_a_page_that_is_not_crawled_is_stale_for_the_whole_day() -> None:
    """Two crawls: proportional gives both to the first page, uniform one to each."""
    pages = Pages.of(np.array([2.0, 0.1]), {Kind.POISSON: 1.0}, np.random.default_rng(1))
    stale = embarrassments(pages, np.ones(2), rounded_down, 2, uncrawled_stale=True)
    current = embarrassments(pages, np.ones(2), rounded_down, 2, uncrawled_stale=False)
    assert stale[1] == current[1]
    assert stale[0] == pytest.approx(current[0] + (1.0 - (1.0 - (1.0 - np.exp(-0.1)) / 0.1)) / 2.0)


def test_uniform_is_the_best_of_the_heuristics_if_numbers_are_rounded_down(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncrawled, "PAGES", 3000)
    page = Page("crawling", "made")
    agreements = write(page)
    assert "| stale, rounded down | 8 of 8 |" in page.markdown
    assert "| current at first, rounded to the budget | 0 of 8 |" in page.markdown
    assert [one.verdict for one in agreements] == ["no", "no", "partly", "yes"]
