"""The overview: how well the proxy does, and what needs attention."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bestbefore.addon.admin.counts.failing_origins import OriginFailure
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.dashboard.source import ProxySource
from bestbefore.addon.proxy.tunnels.listing import Tunnelled, read_list
from bestbefore.addon.reports.figures import Figures, figures
from bestbefore.addon.reports.stale import StaleShare, stale_shares
from bestbefore.addon.store.server.embedded import default_store_max

REASONS = 12
NAMED = 3
"""How many of the hosts that a notice is about it names."""
COUNTED = {
    "dropped_copies": ("{:,.0f} copies were not kept: the store was full or down.", ""),
    "store_write_errors": ("{:,.0f} entries could not be written to the store.", ""),
    "store_corrupt_entries": ("{:,.0f} corrupt entries were found in the store.", ""),
    "worker_restarts": ("Workers that ended and were started again: {:,.0f}.", ""),
    "refused": ("{:,.0f} connections or requests were refused at a limit.", ""),
    "prefetch_budget_exhausted": ("The budget of background fetches was spent while fetches were due.", "/plan"),
}
"""What needs attention if it was counted since the start: its metric, a text for the number, and a page."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that needs attention."""

    text: str
    path: str = ""
    """The page with more of it."""


async def read(asked: Asked) -> PageView:
    """Return the overview."""
    source = asked.source
    health, seen = source.health(), figures(source.families())
    settings = source.config.settings
    tunnels = tunnelled(asked)
    down = source.domains().origins.failures
    async with source.store() as store:
        troubled = len(await store.planning.troubles())
        shares = await stale_shares(store, source.config.rules, source.domains(), asked.now_s)
    return PageView(
        "overview.html",
        "Overview",
        {
            "health": health,
            "figures": seen,
            "reasons": seen.by_reason[:REASONS],
            "store": settings.store if settings.store == "embedded" else settings.store.rpartition("@")[2],
            "store_bytes": seen.values.get("store_bytes"),
            "store_max": settings.store_max or (default_store_max() if settings.store == "embedded" else None),
            "tunnels": len(tunnels),
            "stale": shares,
            "down": len(down),
            "offline": settings.offline,
            "notices": list(notices(
                health, seen, down, tunnels, shares, troubled, offline=settings.offline,
                refused=bool(seen.values.get("config_reload_failures")) and await asyncio.to_thread(is_refused, source),
            )),
        },
        is_live=True,
    )


def is_refused(source: ProxySource) -> bool:
    """Whether the configuration file, as it is now, would be refused. It reads files."""
    try:
        text = "" if source.config_file is None else source.config_file.read_text("utf-8-sig")
        source.checked(text)
    except (ConfigError, OSError, ValueError):
        return True
    return source.config_file is not None and not text.strip()  # as if it were still being written


def tunnelled(asked: Asked) -> list[Tunnelled]:
    """Return what is tunnelled because of refused certificates."""
    try:
        return read_list(asked.source.config.settings.state, asked.now_s)
    except (OSError, ValueError, TypeError):
        return []


def notices(
    health: Mapping[str, object],
    seen: Figures,
    down: Mapping[str, OriginFailure],
    tunnels: list[Tunnelled],
    shares: tuple[StaleShare, ...],
    troubled: int,
    *,
    offline: bool,
    refused: bool,
) -> Iterator[Notice]:
    """Yield what needs attention, the most pressing first."""
    yield from _of_health(health, seen)
    if offline:
        yield Notice("The proxy is offline: it contacts no origin, and serves every stored copy.", "/configuration")
    if refused:
        yield Notice("The changed configuration file is refused; the one before is in force.", "/configuration")
    yield from _of_origins(down, seen.stale, troubled)
    for name, (text, path) in COUNTED.items():
        if number := seen.values.get(name):
            yield Notice(text.format(number), path)
    if tunnels:
        clients = len({one.client for one in tunnels})
        who = "One client refuses" if clients == 1 else f"{clients} clients refuse"
        where, whom = _named(sorted({one.host for one in tunnels})), "it" if clients == 1 else "them"
        yield Notice(f"{who} the proxy's certificate: what comes from {where} is not cached for {whom}.", "/tunnels")
    for one in shares:
        if one.low is not None and one.low > one.target:
            yield Notice(f"{one.group}: more stale hits than the {100 * one.target:.3g} % that are wanted.")


def _of_health(health: Mapping[str, object], seen: Figures) -> Iterator[Notice]:
    if health.get("store") != "ok":
        yield Notice(f"The store is {health.get('store')}: nothing is written, and only memory serves.")
    if seen.conditions:
        yield Notice(f"The store is in this condition: {', '.join(seen.conditions)}.")
    if health.get("connections", "ok") != "ok":
        yield Notice("There are too many connections: clients are refused.")


def _of_origins(down: Mapping[str, OriginFailure], stale: int, troubled: int) -> Iterator[Notice]:
    if down:
        who = "One origin is" if len(down) == 1 else f"{len(down)} origins are"
        yield Notice(f"{who} down: {_named(list(down))}.", "/domains")
    if troubled:
        who = "One watched object" if troubled == 1 else f"{troubled:,} watched objects"
        yield Notice(f"{who} could not be fetched.", "/feeds")
    if stale:
        who = "One request" if stale == 1 else f"{stale:,} requests"
        yield Notice(f"{who} got a stale copy because the origin failed.")


def _named(hosts: Sequence[str]) -> str:
    return ", ".join(hosts[:NAMED]) + (f" and {len(hosts) - NAMED} more" if len(hosts) > NAMED else "")
