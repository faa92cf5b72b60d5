"""An origin that plays feeds in policy time, each on an address of its own, and remembers when it was asked for which.

Linux only: the addresses are those of 127.0.0.0/8. So to the proxy each feed is a site of its own.
"""

import bisect
import socket
from collections.abc import Callable, Sequence
from email.utils import formatdate

from aiohttp import web

LISTED_S = 16 * 86_400.0
"""A document lists the items of so many days."""
BACKLOG = 64


class FeedOrigin:
    """Feed i has an item for each time of `times_s[i]` (policy time, ascending)."""

    def __init__(self, times_s: Sequence[Sequence[float]]) -> None:
        self._times_s = times_s
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.now: Callable[[], float] = lambda: 0.0
        """Policy time."""
        self.contacts_s: list[list[float]] = [[] for _ in times_s]
        """Of each feed."""
        self.agents: list[list[tuple[float, str]]] = [[] for _ in times_s]
        """Of each feed, with the User-Agent of each contact."""

    async def start(self) -> None:
        app = web.Application()
        self._add_routes(app)
        app.router.add_get("/{feed}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        for address in self._addresses():
            listening = socket.create_server((address, self._port), backlog=BACKLOG)
            self._port = listening.getsockname()[1]  # the same for all
            await web.SockSite(self._runner, listening).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def url(self, feed: int) -> str:
        return f"http://{_address(feed)}:{self._port}/{feed}"

    def _add_routes(self, app: web.Application) -> None:
        """Add those that are not of feeds."""

    def _addresses(self) -> list[str]:
        return [_address(feed) for feed in range(len(self._times_s))]

    def _fields(self, feed: int, posted: int, now_s: float) -> dict[str, str]:
        return {"Date": formatdate(now_s, usegmt=True), "ETag": f'"{posted}"', "Content-Type": "application/rss+xml"}

    async def _answer(self, request: web.Request) -> web.Response:
        feed, now_s = int(request.match_info["feed"]), self.now()
        posted = bisect.bisect_right(self._times_s[feed], now_s)
        self.contacts_s[feed].append(now_s)
        self.agents[feed].append((now_s, request.headers.get("User-Agent", "")))
        fields = self._fields(feed, posted, now_s)
        if request.headers.get("If-None-Match") == fields["ETag"]:
            return web.Response(status=304, headers=fields)
        return web.Response(text=self._document(feed, posted, now_s), headers=fields)

    def _document(self, feed: int, posted: int, now_s: float) -> str:
        times_s = self._times_s[feed]
        first = bisect.bisect_left(times_s, now_s - LISTED_S)
        items = "".join(
            f"<item><guid>{number}</guid><pubDate>{formatdate(times_s[number], usegmt=True)}</pubDate></item>\n"
            for number in range(posted - 1, first - 1, -1)
        )
        return f'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>{feed}</title>\n{items}</channel></rss>\n'


def _address(feed: int) -> str:
    return f"127.0.{1 + feed // 200}.{1 + feed % 200}"
