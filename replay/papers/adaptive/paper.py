"""The page of the paper."""

from bestbefore.replay.papers.adaptive import (
    agreement,
    bursty,
    cyclic,
    estimates,
    examples,
    mailboxes,
    reasons,
    segments,
)
from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.page import Page
from bestbefore.replay.papers.work import Work
from bestbefore.replay.traces.files import read_updates


def write(work: Work, page: Page) -> None:
    """See `papers.table.Write`."""
    arrivals_path = work.trace(mailboxes.ARRIVALS)
    whole = Paired.read(work)
    arrivals = read_updates(arrivals_path, work.warn)
    cyclic_objects = whole.of_class("cyclic")
    page.title("Adaptive pull-based freshness policies")
    examples.write(page)
    segments.write(page, cyclic_objects)
    claims = [
        *estimates.write(work, page, cyclic_objects),
        *mailboxes.write(work, page, arrivals),
        *cyclic.write(work, page, cyclic_objects),
        *bursty.write(work, page, whole),
    ]
    agreement.write(work, page, whole, claims)
    reasons.write(work, page, whole)
