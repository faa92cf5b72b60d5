"""A feed, and a proxy that is asked for it, in the time of a clock that the test moves."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mitmproxy.connection import Client
from mitmproxy.proxy.mode_specs import ProxyMode

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

START_S = 1_795_161_600.0
HOUR_S, DAY_S = 3600.0, 86_400.0
TARGET = Target.parse("http://www.example.org/feed")
CLIENT = Client(
    peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0, proxy_mode=ProxyMode.parse("regular")
)


@dataclass
class Feed:
    """An origin whose feed lists its latest 20 postings."""

    clock: ManualClock
    posted_s: list[float] = field(default_factory=list)
    lines: tuple[tuple[str, str], ...] = (("ETag", '"x"'),)
    channel: str = ""
    status: int = 200
    asked: int = 0

    def respond(self, _: Request, now_s: float) -> tuple[Head, bytes]:
        self.asked += 1
        if self.status != 200:
            return Head(self.status, Fields([("Location", "http://other.test/")])), b"gone for good"
        latest = [t for t in self.posted_s if t <= now_s][-20:]
        items = "".join(
            f"<item><guid>{t}</guid><pubDate>{format_http_date(t)}</pubDate></item>" for t in reversed(latest)
        )
        return Head(200, Fields(self.lines)), f"<rss><channel>{self.channel}{items}</channel></rss>".encode()


@asynccontextmanager
async def proxy(
    feed: Feed, answered: Callable[[Answered], None] = lambda _: None, config: Path | None = None
) -> AsyncIterator[tuple[Exchanges, Store]]:
    store = await open_memory_store(clock=feed.clock)
    origin = Origin(feed.clock)
    origin.answer_for(TARGET.host, feed.respond)
    site = Site("proxy", b"salt", max_cached_body=1 << 20)
    exchanges = Exchanges(feed.clock, store, origin, load_config(config).rules, site, answered)
    try:
        yield exchanges, store
    finally:
        await exchanges.close()
        await origin.close()
        await store.close()


async def ask(exchanges: Exchanges, **lines: str) -> Answer:
    request = Request("GET", TARGET, Fields((name.replace("_", "-"), value) for name, value in lines.items()))
    answer = await answer_to(request, CLIENT, exchanges)
    if answer.chunks is not None:
        answer.body = b"".join([chunk async for chunk in answer.chunks])
    answer.finish(len(answer.body), complete=True)
    return answer
