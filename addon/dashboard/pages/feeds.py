"""The feeds: how often they change, when they are fetched next, and which cannot be."""

from bestbefore.addon.admin.show import feed_text, rate_text, trouble_text
from bestbefore.addon.dashboard.pages.page import ROWS, Asked, PageView
from bestbefore.addon.reports.feeds import FeedRow, feed_rows

MOST = 100_000


async def read(asked: Asked) -> PageView:
    """Return a page of the feeds."""
    start = asked.number("start", MOST)
    async with asked.source.store() as store:
        rows, total = await feed_rows(store, asked.source.config.prefetch.watched, ROWS, start)
    return PageView(
        "feeds.html",
        "Feeds",
        {
            "rows": [(one, *_texts(one, asked.now_s)) for one in rows],
            "start": start,
            "size": ROWS,
            "total": total,
            "prefetches": asked.source.config.prefetch.enabled,
        },
    )


def _texts(row: FeedRow, now_s: float) -> tuple[str, str, str]:
    """Return what a feed is, its rate, and its trouble."""
    observed = row.observed
    what = "not contacted yet" if observed is None else "no feed, as far as was seen"
    if observed is not None and observed.feed is not None:
        what = feed_text(observed.feed)
    rate = "" if observed is None or observed.rate is None else rate_text(observed.rate)
    return what, rate, "" if row.trouble is None else trouble_text(*row.trouble, now_s)
