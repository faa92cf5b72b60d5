"""The summary at the top of the page: each finding of the paper with our result."""

from collections.abc import Sequence

from bestbefore.replay.papers.claims import Claim, write_claims
from bestbefore.replay.report.page import Page


def write(page: Page, claims: Sequence[Claim], of_one_cache: str) -> None:
    """Write the table of the paper's findings, and what one cache for all clients takes."""
    page.section("Where our traces agree with the paper and where they do not")
    page.text(
        """Shares are stale hits among the requests that found a copy, at the number of validations that TTL has with
        alpha = 0.5 / alpha = 0.2; smaller is better. A finding holds by the condition beside it: `yes` if in all
        comparisons, `partly` if in some of them, – if it cannot be compared. A share of – is reached by no value of the
        parameter."""
    )
    write_claims(page, claims)
    page.text(
        f"""Beyond the paper, with one cache for all clients, which is what a proxy has, {of_one_cache}:
        [why](#is-plain-ttl-hard-to-beat-with-one-shared-cache)."""
    )
