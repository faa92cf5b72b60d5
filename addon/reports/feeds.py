"""Reports on feeds: those that are watched, and those among the objects most requested."""

from collections.abc import Collection
from dataclasses import dataclass

from bestbefore.addon.admin.report import Observed, observed_report
from bestbefore.addon.store.store import Store
from bestbefore.addon.store.trouble import Trouble

MOST_REQUESTED = 250
"""Among so many of the most requested objects feeds are looked for."""


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A feed, or a watched object that was not yet read as one."""

    url: str
    watched: bool
    """Whether the configuration lists it."""
    observed: Observed | None
    """None: it was not contacted yet."""
    due_s: float | None
    """When it is fetched next, policy time; None: that is not planned."""
    trouble: Trouble | None
    """Why it could not be fetched last; None: it could."""


async def feed_rows(store: Store, watched: Collection[str], most: int, start: int) -> tuple[list[FeedRow], int]:
    """Return so many feeds from a place on, those in trouble first, then by URL; and how many there are."""
    troubles = await store.planning.troubles()
    requested = [url for url, _ in await store.top(MOST_REQUESTED)]
    feeds = {record.url for record in await store.stored_records(requested) if record.feed is not None}
    urls = sorted(feeds | set(watched), key=lambda url: (url not in troubles, url))
    rows = [await _row(store, url, url in watched, troubles.get(url)) for url in urls[start : start + most]]
    return rows, len(urls)


async def _row(store: Store, url: str, watched: bool, trouble: Trouble | None) -> FeedRow:
    record, candidate = await store.record(url), await store.planning.candidate(url)
    observed = None if record is None else observed_report(record)
    return FeedRow(url, watched, observed, None if candidate is None else candidate.due_s, trouble)
