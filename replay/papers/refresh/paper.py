"""The page of the paper."""

from bestbefore.replay.papers.agreement import Agreement, write_agreements
from bestbefore.replay.papers.refresh import crawled, examples, orders, sources, two_elements, web
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def write(work: Work, page: Page) -> None:
    """Write the page, as `papers.table.Write` says. Traces are used if they are there, for Figures 14 to 17."""
    page.title("Effective page refresh policies for Web crawlers")
    page.text(
        """Cho, Garcia-Molina, ACM Transactions on Database Systems 28(4), 2003. Each printed value stands beside ours,
        and the difference is ours less the printed one. Figures without printed values are drawn."""
    )
    summary = page.part()
    sections = (
        orders.write, two_elements.write, examples.write, lambda page: crawled.write(work, page),
        lambda page: sources.write(work, page), web.write,
    )
    agreements: list[Agreement] = []
    with work.bar("refresh", len(sections)) as watch:
        for _, write_section in watch(enumerate(sections)):
            agreements += write_section(page)
    write_agreements(summary, agreements)
