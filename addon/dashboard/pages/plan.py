"""The schedule of background fetches: what comes next and why, what it is expected to gain, and what it has gained."""

from collections.abc import Iterable

from prometheus_client.core import Metric

from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.prefetcher.outlook import LISTED, outlook
from bestbefore.addon.reports.plan import due_text


async def read(asked: Asked) -> PageView:
    """Return the schedule of all proxies on the store."""
    prefetch = asked.source.config.prefetch
    plan = None
    if prefetch.enabled:  # else the stored schedule of an earlier run would be read
        async with asked.source.store() as store:
            plan = await outlook(store, asked.now_s, LISTED, prefetch.watched)
    return PageView(
        "plan.html",
        "Plan",
        {
            "plan": plan,
            "enabled": prefetch.enabled,
            "due": "" if plan is None else due_text(plan.price, plan.objective),
            "made": _made(asked.source.families()),
        },
        is_live=True,
    )


def _made(families: Iterable[Metric]) -> list[tuple[str, int]]:
    """Return how many background fetches were made since the start, by outcome."""
    return sorted(
        (sample.labels["outcome"], round(sample.value))
        for family in families
        if family.name == "bestbefore_prefetch_fetches"
        for sample in family.samples
        if sample.name.endswith("_total")
    )
