"""The summary at the top of the page: each finding of the paper with our result."""

from collections.abc import Sequence

from bestbefore.replay.papers.claims import Claim, write_claims
from bestbefore.replay.report.page import Page


def write(page: Page, claims: Sequence[Claim]) -> None:
    """Write the table of the paper's findings."""
    page.section("Where our traces agree with the paper and where they do not")
    page.text(
        """Shares are stale hits among the requests that found a copy, at the number of validations that TTL has with
        alpha = 0.5 / alpha = 0.2; smaller is better. The last column says whether the finding holds: `yes` in all
        comparisons, `partly` in some of them, – if it cannot be compared. A share of – is reached by no value of the
        parameter."""
    )
    write_claims(page, claims)
    page.text(
        """Beyond the paper, with one cache for all clients, which is what a proxy has, plain TTL is hard to beat at low
        stale rates: [why](#why-plain-ttl-is-hard-to-beat-with-one-shared-cache). Histories beat it there too, under a
        bound of about an hour (`max_ttl`)."""
    )
