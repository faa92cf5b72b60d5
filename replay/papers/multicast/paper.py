"""The page of the paper."""

from bestbefore.replay.papers.multicast import downloaders, guidelines, impossible, observations, readings, subscribers
from bestbefore.replay.papers.multicast.simulations import (
    SMALL_INSTANCES,
    SMALL_REQUESTS,
    THOUSAND_INSTANCES,
    Simulations,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

SECTIONS = (subscribers, guidelines, downloaders, observations, readings, impossible)


def write(work: Work, page: Page) -> None:
    """Write the page, as `papers.table.Write` says. No trace is needed."""
    page.title("Multicasting a changing repository")
    page.text(
        f"""Lam, Garcia-Molina, ICDE 2003. All is simulated (`replay/multicast`) with the parameters of its Table 1:
        21,000 sites of three sizes, 85,680 chunks of 15 pages, one chunk in five minutes, clients that request 9 sites
        on average, Poisson changes, 75 days. All schedulers (`policies/dissemination`) serve the same instances. `gain`
        and `gain_data` are not in the paper. There are {SMALL_INSTANCES} instances where all clients together request
        at most {SMALL_REQUESTS:,} sites, {THOUSAND_INSTANCES} with 1000 subscribers of 9 sites, and one elsewhere: a
        value without ± is that of one instance."""
    )
    simulations = Simulations(work, (case for section in SECTIONS for case in section.cases()))
    for section in SECTIONS:
        section.write(page, simulations)
