"""What `bestbefore top` shows: figures, and tables of domains, objects and clients."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from bestbefore.addon.admin.sanitize import URL_LIMIT, bare_url, plain_word
from bestbefore.addon.admin.units import size, span

type Snapshot = Mapping[str, Any]
"""The object of /top.json."""

ORDERS = ("requests", "hits", "contacts", "unnecessary", "updates", "saved_bytes")
"""The orders of the domains, the most first."""
OF_OBJECTS = {"contacts": "contacts", "unnecessary": "unchanged", "updates": "updates"}
"""The orders that objects have, too; else they are in that of their requests."""
LEAST_ROWS = 3
LEAST_NAME = 20
"""The width that the name of a row has at least; in a narrow terminal the last counts give way to it."""
PLAIN_COLUMNS = 2 * URL_LIMIT
"""The width of the text for programs: no line of it is longer."""
_COUNTS = ("requests", "hits", "contacts", "stale")


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts between two snapshots."""

    seconds: float
    counts: Mapping[str, int]

    @classmethod
    def between(cls, before: Snapshot | None, now: Snapshot, seconds: float) -> "Rates | None":
        """Return the differences; None before the second snapshot, and after a new start of the proxy."""
        if before is None or seconds <= 0.0 or any(now[name] < before[name] for name in _COUNTS):
            return None
        return cls(seconds, {name: now[name] - before[name] for name in _COUNTS})


def screen(now: Snapshot, rates: Rates | None, order: str, rows: int, note: str = "") -> RenderableType:
    """Return what is shown. `rows`: how many lines the tables may have together; `note`: a line at the end."""
    shares = [*_tables(now, order)]
    each = max(LEAST_ROWS, rows // max(len(shares), 1))
    tables = [_Fitted(title, columns, cells[:each]) for title, columns, cells in shares]
    return Group(*(Text(line) for line in head(now, rates)), *tables, Text(note, style="dim"))


def plain_text(now: Snapshot, order: str, rows: int) -> str:
    """Return what is shown once without a terminal: whole lines without blanks at their ends."""
    console = Console(width=PLAIN_COLUMNS, file=StringIO(), record=True, color_system=None)
    console.print(screen(now, None, order, rows))
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()).rstrip("\n") + "\n"


def head(now: Snapshot, rates: Rates | None) -> Iterator[str]:
    """Yield the lines of the figures."""
    requests = now["requests"]
    health = now["health"]
    counted = "" if rates is None else f", {_rate(rates, 'requests')} now"
    yield (
        f"requests {requests:,}{counted}; hits {_share(now['hits'], requests)}{_now(rates, 'hits')}; contacts "
        f"{now['contacts']:,}{_now(rates, 'contacts')}, {now['unnecessary']:,} of them unnecessary; "
        f"served stale {now['stale']:,}"
    )
    yield (
        f"sent {size(now['sent_bytes'])}, received {size(now['received_bytes'])}; store {health.get('store', '?')}; "
        + ("; ".join(map(_latency, now["latencies"])) or "no request yet")
    )
    for one in now["stale_shares"]:
        low, high = one["low"], one["high"]
        bounds = "too early for an interval" if low is None else f"{100 * low:.2g} to {100 * high:.2g} %"
        yield (
            f"stale hits of {plain_word(one['group'])}, estimated: {100 * one['estimate']:.2g} % ({bounds}); "
            f"wanted {100 * one['target']:.3g} %"
        )


def _latency(one: Mapping[str, Any]) -> str:
    median_s, p99_s = ("?" if one[key] is None else span(one[key]) for key in ("median_s", "p99_s"))
    return f"{one['of']}: median {median_s}, 99 % within {p99_s}"


def _rate(rates: Rates, name: str) -> str:
    rate = rates.counts[name] / rates.seconds
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _now(rates: Rates | None, name: str) -> str:
    if rates is None:
        return ""
    if name == "hits":
        return f" ({_share(rates.counts['hits'], rates.counts['requests'])} now)" if rates.counts["requests"] else ""
    return f" ({_rate(rates, name)} now)"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _tables(now: Snapshot, order: str) -> Iterator[tuple[str, Sequence[str], list[tuple[str, ...]]]]:
    """Yield title, names of columns and rows of each table that has rows."""
    domains = sorted(now["domains"], key=lambda one: (-one[order], one["domain"]))
    if domains:
        yield f"domains by {order}", ("requests", "hits", "contacts", "unnec.", "updates", "saved", "domain"), [
            (
                *(f"{one[name]:,}" for name in ("requests", "hits", "contacts", "unnecessary", "updates")),
                size(one["saved_bytes"]), plain_word(one["domain"]),
            )
            for one in domains
        ]  # fmt: skip
    of_objects = OF_OBJECTS.get(order, "requests")
    if objects := sorted(now["top_objects"], key=lambda one: -one[of_objects]):
        yield f"objects by {of_objects}", (
            "requests", "contacts", "unchanged", "updates", "next check", "URL"
        ), [
            (
                *(f"{one[name]:,}" for name in ("requests", "contacts", "unchanged", "updates")),
                _in(one["next_check_s"], now["now_s"]), bare_url(one["url"]),
            )
            for one in objects
        ]  # fmt: skip
    if now["clients"]:
        yield "clients in the last requests", ("requests", "hits", "client"), [
            (f"{one['requests']:,}", f"{one['hits']:,}", plain_word(one["client"]) or "-") for one in now["clients"]
        ]


def _in(next_s: float | None, now_s: float) -> str:
    return "each" if next_s is None or next_s <= now_s else span(next_s - now_s)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A table with as many of its first columns as leave room for the last, the name."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [1 + max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        shown = len(widths) - 1
        while shown > 1 and sum(widths[:shown]) + LEAST_NAME > options.max_width:
            shown -= 1
        table = Table(title=self.title, title_justify="left", title_style="bold", box=None, pad_edge=False, expand=True)
        for column in self.columns[:shown]:
            table.add_column(column, justify="right", no_wrap=True, min_width=len(column))
        table.add_column(self.columns[-1], overflow="ellipsis", no_wrap=True, ratio=1)
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in (*row[:shown], row[-1])))
        yield table
