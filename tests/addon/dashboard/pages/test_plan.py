"""Each outcome of a background fetch is explained."""

import re
from pathlib import Path

from bestbefore.addon.dashboard.pages.plan import MEANINGS
from bestbefore.addon.prefetcher.eligibility import Refusal

OBSERVING = Path(__file__).parents[4] / "docs/observing.md"


def test_each_outcome_that_the_docs_name_has_a_meaning() -> None:
    row = next(line for line in OBSERVING.read_text("utf-8").splitlines() if "prefetch_fetches_total" in line)
    named = set(re.findall(r"`([a-z-]+)`", row.partition("fetches done")[2]))
    assert len(named) > 10
    assert named | set(Refusal) <= MEANINGS.keys()
