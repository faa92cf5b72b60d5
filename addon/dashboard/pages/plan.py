"""The schedule of background fetches: what comes next and why, what it is expected to gain, and what it has gained."""

from collections.abc import Iterable, Mapping

from prometheus_client.core import Metric

from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.prefetcher.eligibility import Refusal
from bestbefore.addon.prefetcher.outlook import LISTED, outlook
from bestbefore.addon.prefetcher.runner import BUDGET_SPENT
from bestbefore.addon.reports.figures import figures
from bestbefore.addon.reports.plan import due_text

MEANINGS: Mapping[str, str] = {
    "updated": "the object had changed",
    "unchanged": "the object had not changed",
    "first": "the first fetch of a watched object",
    "replaced": "it was fetched whole; there was nothing to compare it with",
    "redirected": "the origin named another URL for now",
    "refused-by-origin": "the origin answered with an error status",
    "unanswered": "the origin could not be reached, or did not answer in time",
    "broken-off": "the connection broke in the middle of the answer",
    "too-slow": "it took too long, and is left out for a day",
    "too-large": "it is too large to be stored, and is left out for a day",
    "robots-read": "robots.txt was read first",
    "robots": "not made: robots.txt does not allow it, or was not available",
    "not-needed": "not made: the object was contacted meanwhile",
    "under-way": "not made: a request of a client was in progress",
    BUDGET_SPENT: "put off: the budget is spent",
    Refusal.NO_COPY: "not made: there is no copy that can be validated",
    Refusal.PERSONAL: "not made: the copy is of one user",
    Refusal.PRIVATE_ADDRESS: "not made: its address is private, and no client has asked for it from there",
    Refusal.USERINFO: "not made: the URL has a user name",
    Refusal.SECRET: "not made: the query of the URL looks like a secret",
    Refusal.TOKEN: "not made: the path of the URL looks like a secret",
    Refusal.DEED: "not made: the URL looks like an action",
    Refusal.TOO_LONG: "not made: the URL is too long",
}
"""What the outcomes of background fetches mean."""


async def read(asked: Asked) -> PageView:
    """Return the schedule of all proxies on the store."""
    prefetch = asked.source.config.prefetch
    plan = None
    if prefetch.enabled:  # else the stored schedule of an earlier run would be read
        async with asked.source.store() as store:
            plan = await outlook(store, asked.now_s, LISTED, prefetch.watched)
    families = asked.source.families()
    return PageView(
        "plan.html",
        "Plan",
        {
            "plan": plan,
            "enabled": prefetch.enabled,
            "due": "" if plan is None else due_text(plan.price, plan.objective),
            "waiting": round(figures(families).values.get("prefetch_due_fetches", 0.0)),
            "made": [(outcome, MEANINGS.get(outcome, ""), number) for outcome, number in _made(families)],
        },
        is_live=True,
    )


def _made(families: Iterable[Metric]) -> list[tuple[str, int]]:
    """Return how many background fetches were due since the start, by outcome, the most frequent first."""
    counts = (
        (sample.labels["outcome"], round(sample.value))
        for family in families
        if family.name == "bestbefore_prefetch_fetches"
        for sample in family.samples
        if sample.name.endswith("_total")
    )
    return sorted(counts, key=lambda item: (-item[1], item[0]))
