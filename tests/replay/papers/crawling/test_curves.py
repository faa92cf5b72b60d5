import numpy as np

from bestbefore.addon.charts.lines import Scale
from bestbefore.replay.papers.crawling.curves import over_crawls, show
from bestbefore.replay.papers.crawling.pages import Kind, Pages, zipf_rates
from bestbefore.replay.papers.crawling.schemes import UNWEIGHTED, mean_staleness
from bestbefore.replay.report.page import Page


def test_a_curve_has_the_staleness_of_its_scheme_at_each_budget() -> None:
    pages = Pages.of(zipf_rates(50, 0.0), {Kind.POISSON: 1.0}, np.random.default_rng(1))
    weights = np.linspace(1.0, 2.0, 50)
    curves = over_crawls(pages, weights, UNWEIGHTED, (1.0, 2.5))
    assert list(curves) == list(UNWEIGHTED)
    visits = UNWEIGHTED["uniform"](pages, weights, 125)
    assert curves["uniform"][1] == (2.5, mean_staleness(pages, weights, visits))


def test_curves_are_a_table_and_a_figure() -> None:
    page = Page("crawling", "made by a test")
    show(page, {"one": [(1.0, 0.5), (2.5, 0.25)], "two": [(1.0, 0.7), (2.5, 0.6)]},
         "crawls", ("7", "Figure 7"), Scale("crawls"), "staleness")
    assert "| crawls | one | two |" in page.markdown
    assert "| 2.5 | 0.2500 | 0.6000 |" in page.markdown
    assert "![Figure 7](crawling_7.svg)" in page.markdown
    assert "staleness" in page.figures["crawling_7.svg"]
