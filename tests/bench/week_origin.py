"""An origin of feeds, some of which have a WebSub hub, and of a site whose pages a sitemap lists, in policy time.

The hub does as the W3C Recommendation says: it verifies an intent by a challenge, and signs what it pushes. The one of
flask-websub would need Celery with its workers, and ends leases by the real clock, while a week here lasts minutes.
"""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from email.utils import formatdate
from time import gmtime, strftime
from typing import override

import aiohttp
from aiohttp import web
from feed_origin import FeedOrigin

SITE = "127.0.9.1"
PUSH_S = 5.0
"""The longest that a push may take, in real seconds."""


class WeekOrigin(FeedOrigin):
    """The numbers in `hubbed` are feeds with a hub, those in `pages` are pages of one site."""

    def __init__(self, times_s: Sequence[Sequence[float]], hubbed: Collection[int], pages: Collection[int]) -> None:
        super().__init__(times_s)
        self._hubbed, self._pages = hubbed, pages
        self._verifying: set[asyncio.Task[None]] = set()
        self._subscribed: dict[int, dict[str, str]] = {feed: {} for feed in hubbed}
        """By feed the secret of each callback."""
        self.sitemap_agents: list[tuple[float, str]] = []
        """The contacts with the sitemap, with the User-Agent of each."""
        self.pushed = self.unreachable = 0
        """Pushes that were accepted, and that were not."""

    @property
    def sitemap(self) -> str:
        return f"http://{SITE}:{self._port}/sitemap.xml"

    @property
    def subscriptions(self) -> int:
        return sum(map(len, self._subscribed.values()))

    @override
    def url(self, feed: int) -> str:
        return f"http://{SITE}:{self._port}/{feed}" if feed in self._pages else super().url(feed)

    @override
    def _add_routes(self, app: web.Application) -> None:
        app.router.add_get("/sitemap.xml", self._list_pages)
        app.router.add_post("/hub", self._subscribe)

    @override
    def _addresses(self) -> list[str]:
        return [*super()._addresses(), SITE]

    @override
    def _fields(self, feed: int, posted: int, now_s: float) -> dict[str, str]:
        fields = super()._fields(feed, posted, now_s)
        if feed in self._hubbed:
            hub = self.url(feed).rpartition("/")[0] + "/hub"
            fields["Link"] = f'<{hub}>; rel="hub", <{self.url(feed)}>; rel="self"'
        if feed in self._pages:
            fields["Content-Type"] = "text/html"
            if posted:
                fields["Last-Modified"] = formatdate(self._times_s[feed][posted - 1], usegmt=True)
        return fields

    @override
    def _document(self, feed: int, posted: int, now_s: float) -> str:
        return f"<p>{posted}</p>\n" if feed in self._pages else super()._document(feed, posted, now_s)

    async def _list_pages(self, request: web.Request) -> web.Response:
        self.sitemap_agents.append((self.now(), request.headers.get("User-Agent", "")))
        latest_s = [max((t for t in self._times_s[page] if t <= self.now()), default=0.0) for page in self._pages]
        entries = "".join(
            f"<url><loc>{self.url(page)}</loc><lastmod>{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(at_s))}</lastmod></url>\n"
            for page, at_s in zip(self._pages, latest_s, strict=True) if at_s
        )
        tag = f'"{hashlib.sha256(entries.encode()).hexdigest()[:16]}"'
        fields = {"Date": formatdate(self.now(), usegmt=True), "ETag": tag, "Content-Type": "application/xml"}
        fields["Last-Modified"] = formatdate(max(latest_s), usegmt=True)
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=fields)
        text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
        return web.Response(text=text, headers=fields)

    async def _subscribe(self, request: web.Request) -> web.Response:
        asked = {name: str(value) for name, value in (await request.post()).items()}
        task = asyncio.create_task(self._verify(asked))
        self._verifying.add(task)
        task.add_done_callback(self._verifying.discard)
        return web.Response(status=202)

    async def _verify(self, asked: dict[str, str]) -> None:
        feed, callback = int(asked["hub.topic"].rpartition("/")[2]), asked["hub.callback"]
        intent = {"hub.mode": asked["hub.mode"], "hub.topic": asked["hub.topic"], "hub.challenge": secrets.token_hex(8)}
        if asked["hub.mode"] == "subscribe":
            intent["hub.lease_seconds"] = asked["hub.lease_seconds"]
        async with aiohttp.ClientSession() as session, session.get(callback, params=intent) as answer:
            confirmed = answer.status == 200 and await answer.text() == intent["hub.challenge"]
        if confirmed and asked["hub.mode"] == "subscribe":
            self._subscribed[feed][callback] = asked["hub.secret"]
        elif confirmed:
            self._subscribed[feed].pop(callback, None)

    async def push(self, feed: int) -> None:
        """Send a feed to all that have subscribed to it."""
        content = f"{feed} has changed".encode()
        limit = aiohttp.ClientTimeout(total=PUSH_S)
        async with aiohttp.ClientSession(timeout=limit) as session:
            for callback, secret in list(self._subscribed[feed].items()):
                signature = "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
                try:
                    async with session.post(callback, data=content, headers={"X-Hub-Signature": signature}) as answer:
                        accepted = answer.status == 202
                except (aiohttp.ClientError, TimeoutError):
                    accepted = False
                self.pushed += accepted
                self.unreachable += not accepted
