"""What programs read of the dashboard, as JSON: figures for `bestbefore top`, requests for `bestbefore tail`.

The same machines may read it as see the pages, since it bears URLs and clients.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict

from aiohttp import web

from bestbefore.addon.admin.log.formats import log_format
from bestbefore.addon.dashboard.recent import RecentRequests
from bestbefore.addon.dashboard.source import ProxySource
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.reports.figures import figures
from bestbefore.addon.reports.objects import ObjectReports
from bestbefore.addon.reports.stale import stale_shares

type Content = Callable[[ProxySource, RecentRequests, Mapping[str, str]], Awaitable[dict[str, object]]]
"""Reads an object by the query. Raises the errors of the store."""

TOP_PATH = "/top.json"
REQUESTS_PATH = "/requests.json"
ROWS = 20
MOST_ROWS = 100


async def top(source: ProxySource, recent: RecentRequests, query: Mapping[str, str]) -> dict[str, object]:
    """Return figures since the start, the busiest domains, objects and clients. Raises the errors of the store.

    `rows` of the query is how many of each. Clients are those of the last requests, which are kept only while this or
    a page asks for them.
    """
    await source.refresh()
    rows, now_s = _rows(query), source.clock.now()
    seen, counted = figures(source.families()), source.domains()
    requests: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for one in recent.show():
        if not one.background:
            requests[one.client] += 1
            hits[one.client] += one.outcome is Outcome.HIT
    async with source.store() as store:
        shares = await stale_shares(store, source.config.rules, counted, now_s)
        reports = ObjectReports(store, source.config.rules, now_s, source.config.websub.callback_url)
        objects = await reports.most_requested(rows)
    return {
        "now_s": now_s,
        "health": dict(source.health()),
        "requests": seen.requests,
        "hits": seen.hits,
        "contacts": seen.contacts,
        "stale": seen.stale,
        "unnecessary": seen.unnecessary,
        "sent_bytes": seen.sent_bytes,
        "received_bytes": seen.received_bytes,
        "latencies": [
            {"of": of, "requests": number, "median_s": median_s, "p99_s": p99_s}
            for of, number, median_s, p99_s in seen.latencies
        ],
        "stale_shares": [asdict(share) for share in shares],
        "domains": [{"domain": name, **asdict(counts)} for name, counts in counted.busiest(MOST_ROWS)[0]],
        "top_objects": [asdict(one) for one in objects],
        "clients": [
            {"client": client, "requests": count, "hits": hits[client]} for client, count in requests.most_common(rows)
        ],
    }


async def requests(source: ProxySource, recent: RecentRequests, query: Mapping[str, str]) -> dict[str, object]:
    """Return the requests after the number `after` of the query, as lines of the log's JSON format, the earliest first.

    `last` is the number of the last one, for the next query. `lost` is how many came in between that are not kept.
    """
    last, found, lost = recent.since(_number(query.get("after")))
    line = log_format("json", keep_query=source.config.settings.log_query)
    return {"last": last, "lost": lost, "lines": [line(one) for one in found]}


def answer(content: Mapping[str, object]) -> web.Response:
    """Return the response of such an object."""
    return web.Response(text=json.dumps(content, allow_nan=False) + "\n", content_type="application/json")


def _rows(query: Mapping[str, str]) -> int:
    return min(_number(query.get("rows")) or ROWS, MOST_ROWS)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 18 else None
