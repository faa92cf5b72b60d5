"""The page of the paper."""

from bestbefore.replay.papers.claims import write_claims
from bestbefore.replay.papers.feeds import crawlers, examples, hours, pollers, population, tables, windows
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.spans import LIKE_PAPER_NAME, TRACES, like_paper, read_spans, sampled, sampled_name
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def write(work: Work, page: Page) -> None:
    """Write the page, as `papers.table.Write` says."""
    spans = read_spans(work)
    spans[LIKE_PAPER_NAME] = like_paper(spans["all"])
    sets = {name: LearntRates(one) for name, one in spans.items()}
    like = sets[LIKE_PAPER_NAME]
    page.title("Efficient monitoring of feeds")
    page.text(
        """The examples, tables and figures of K. C. Sia, J. Cho, H.-K. Cho, *Efficient Monitoring Algorithm for Fast
        News Alerts*, each printed value beside ours, and what is better than the paper. Its feeds are not public; ours
        replace them, so shapes and ratios are compared. The protocol is the paper's: two weeks of training, 76 days of
        test; the delay of a posting lasts until the first retrieval at or after it (definition 1)."""
    )
    examples.write(page)
    population.write(page, spans)
    sets |= {sampled_name(name): LearntRates(sampled(spans[name])) for name in TRACES}
    found = tables.found_for(work, sets)
    claims = tables.write(page, sets, found)
    pollers.write(work, page, like, found)
    claims += crawlers.write(page, like)
    hours.write(work, page, like, sets["all"])
    claims += windows.write(work, page, like.spans)
    page.section("Where our traces agree with the paper and where they do not")
    write_claims(page, claims)
