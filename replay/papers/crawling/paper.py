"""The page of the paper."""

from bestbefore.replay.papers.agreement import Agreement, write_agreements
from bestbefore.replay.papers.crawling import embarrassment, heavy_tail, mixtures, slots, uncrawled, update_tails
from bestbefore.replay.papers.crawling.pages import PAGES
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def write(work: Work, page: Page) -> None:
    """Write the page, as `papers.table.Write` says. Traces are used if they are there, for Figure 6."""
    page.title("Optimal crawling strategies for Web search engines")
    page.text(
        f"""Wolf, Squillante, Yu, Sethuraman, Ozsen, WWW 2002. Its figures have no printed values: what the text says of
        them is checked, and what it leaves open is assumed and named. From Figure 7 on all are calculated, as in the
        paper ("all curves display the analytically computed objective function values"): {PAGES:,} pages with 1.5
        updates a day on average, 60 % of them Poisson, 30 % Pareto and 10 % quasi-deterministic where they are mixed, a
        period of one day at whose beginning all copies are current (equation 14), crawls divided exactly
        (`policies/prefetch/discrete/best.py`). Proportional and uniform numbers are rounded so that they add up."""
    )
    summary = page.part()
    sections = (
        lambda page: update_tails.write(work, page), embarrassment.write, uncrawled.write, mixtures.write,
        heavy_tail.write, slots.write,
    )
    agreements: list[Agreement] = []
    with work.bar("crawling", len(sections)) as watch:
        for _, write_section in watch(enumerate(sections)):
            agreements += write_section(page)
    write_agreements(summary, agreements)
