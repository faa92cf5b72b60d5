"""The objects most requested, and all that is known of one."""

from collections.abc import Iterator, Sequence

from bestbefore.addon.admin.missing import missing
from bestbefore.addon.admin.report import ObjectReport
from bestbefore.addon.admin.show import PATTERN_NEEDS_S, VERDICTS, expires_text, object_text, rate_text
from bestbefore.addon.charts.bars import bars
from bestbefore.addon.charts.time_line import time_line
from bestbefore.addon.dashboard.pages.page import ROWS, Asked, PageMissingError, PageView
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.reports.objects import ObjectReports, UnknownObjectError
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.spec import spec_text

MOST = 1_000
"""So many of the most requested objects can be paged through; others are found by their URL."""
UPDATES_DRAWN = 200
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_DAY = 3
"""The day of the week of the epoch: a Thursday."""
LAST_REQUESTS = 10


async def read(asked: Asked) -> PageView:
    """Return the page of the object that the query names, else of those most requested, with a text in their URLs."""
    url = asked.query.get("url", "").strip()
    async with asked.source.store() as store:
        config = asked.source.config
        reports = ObjectReports(store, config.rules, asked.now_s, config.websub.callback_url)
        if "://" in url:
            return await _one(asked, store, reports, url)
        start = asked.number("start", MOST - ROWS)
        rows = await reports.most_requested(ROWS + 1, start, url)
    return PageView(
        "objects.html",
        "Objects",
        {"form": "objects_form.html", "url": url, "rows": rows[:ROWS], "start": start, "size": ROWS,
         "more": len(rows) > ROWS and start + ROWS < MOST},
    )  # fmt: skip


async def _one(asked: Asked, store: Store, reports: ObjectReports, url: str) -> PageView:
    try:
        target = Target.parse(url)
        # The search for the nearest URLs takes seconds, and would keep requests waiting.
        report = await reports.object(target, suggests=False)
        record = await store.record(target.url)
    except (ValueError, UnknownObjectError) as error:
        raise PageMissingError(str(error)) from None
    observed = report.observed
    return PageView(
        "object.html",
        "An object",
        {
            "form": "objects_form.html",
            "url": target.url,
            "report": report,
            "policy": spec_text(report.policy, report.params),
            "rate": "" if observed is None or observed.rate is None else rate_text(observed.rate),
            "why": list(_why(report)),
            "line": None if record is None else _line(record, report),
            "line_from_s": 0.0 if record is None else _start(record),
            "day": None if observed is None or observed.last_contact_s - observed.since_s < PATTERN_NEEDS_S else bars(
                observed.rates_by_hour, [str(hour) if hour % 3 == 0 else "" for hour in range(24)],
                "Updates per hour in each hour of the day, UTC",
            ),
            "week": None if record is None or not record.updates else bars(
                weekdays([update.by_s for update in record.updates]), [day[:3] for day in DAYS],
                "Number of updates found on each day of the week, UTC",
            ),
            "text": object_text(report),
            "requests": [one for one in asked.recent.show() if one.url == url][:LAST_REQUESTS],
        },
    )  # fmt: skip


def _why(report: ObjectReport) -> Iterator[str]:
    """Say what a plain GET would lead to now, and why: for each copy, or without one."""
    for variant in report.variants:
        yield f"{VERDICTS[variant.action]}: {expires_text(variant.expires, report.now_s)}"
    if report.variants:
        return
    if report.unvalidated is not None:
        yield f"A miss: {missing(report.unvalidated, report.now_s)}"
    elif report.parts:
        yield "A miss, unless the request is for a stored part: the complete content is not stored."
    else:
        yield (
            "A miss: no copy is stored. It was purged, evicted or never storable, or it is older than its lifetime and "
            "the time for which expired copies are kept. The log names the reason at each request."
        )


def _start(record: Record) -> float:
    """Return where the time line begins: where the object was first observed, or at the first update drawn."""
    return record.since_s if len(record.updates) <= UPDATES_DRAWN else record.updates[-UPDATES_DRAWN].after_s


def _line(record: Record, report: ObjectReport) -> str:
    now_s, due_s = report.now_s, None if report.prefetch is None else report.prefetch.due_s
    since_s = _start(record)
    until_s = max(now_s, since_s + 1.0, due_s or 0.0)
    if due_s is not None and due_s > now_s + (now_s - since_s):  # it would press all else to the left
        until_s = max(now_s, since_s + 1.0)
    drawn = [(update.after_s, update.by_s) for update in record.updates[-UPDATES_DRAWN:]]
    title = f"{len(drawn)} updates, the last contact and the next planned fetch on a time line"
    return time_line(since_s, until_s, drawn, record.last_contact_s, now_s, due_s, title)


def weekdays(times_s: Sequence[float]) -> list[int]:
    """Return how many of these times are on each day of the week, from Monday, UTC."""
    counts = [0] * len(DAYS)
    for time_s in times_s:
        counts[(int(time_s // DAY_S) + _FIRST_DAY) % len(DAYS)] += 1
    return counts
