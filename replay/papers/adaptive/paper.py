"""The page of the paper."""

from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.adaptive.sections import (
    bursty,
    caches,
    cyclic,
    estimates,
    examples,
    mailboxes,
    reasons,
    segments,
    summary,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.traces.columns.files import read_updates


def write(work: Work, page: Page) -> None:
    """Write the page, as `papers.table.Write` says."""
    arrivals_path = work.trace(mailboxes.ARRIVALS)
    whole = Paired.read(work)
    arrivals = read_updates(arrivals_path, work.warn)
    cyclic_objects = whole.of_class("cyclic")
    page.title("Adaptive pull-based freshness policies")
    page.text(
        """The tables and figures of L. Bright, A. Gal, L. Raschid, *Adaptive Pull-Based Data Freshness Policies for
        Diverse Update Patterns*, each printed value beside ours. Their traces are not public, or too large, so ours
        replace them. For the World Cup site: the requests of a real public site over 15 days, each object with the
        updates of a real web resource (assigned at random). For the two mailboxes: months of a mailing list. Absolute
        numbers therefore differ; shares, ratios and orders are compared.""",
        f"""The paired trace: {len(whole.requests):,} requests and {len(whole.updates):,} updates in fifteen days, of
        which the first eight are training unless stated otherwise. Histories are complete, as with the paper's
        piggybacking. A curve shows a policy whose theta or alpha (both at once if it has both) varies over the range in
        the legend, from the largest value at the upper left to the smallest at the lower right; between two points,
        values are interpolated linearly in logarithms.""",
    )
    top = page.part()
    claims = [
        examples.write(page),
        segments.write(page, cyclic_objects),
        *estimates.write(work, page, cyclic_objects),
        *mailboxes.write(work, page, arrivals),
        *cyclic.write(work, page, cyclic_objects),
        *bursty.write(work, page, whole),
    ]
    caches.write(work, page, whole)
    summary.write(top, claims, reasons.write(work, page, whole))
