"""Server-sent events: the live part of a page again, whenever it has changed."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from aiohttp import web

EVERY_S = 2.0
MOST = 16
"""How many pages may be live at once."""
LONGEST_S = 600.0
"""After which the stream ends, and the browser asks again; so a page that is gone is not rendered for ever."""


class Live:
    """The streams that are open."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._closed = asyncio.Event()
        self._open = 0

    def close(self) -> None:
        """End all streams."""
        self._closed.set()

    async def send(self, request: web.Request, rendered: Callable[[], Awaitable[str]]) -> web.StreamResponse:
        """Send what `rendered` returns, each time that it differs from what was sent before."""
        if self._open >= MOST:
            raise web.HTTPServiceUnavailable(text="503: too many pages are open\n", headers={"Retry-After": "60"})
        self._open += 1
        try:
            return await self._send(request, rendered)
        finally:
            self._open -= 1

    async def _send(self, request: web.Request, rendered: Callable[[], Awaitable[str]]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        end_s, sent = self._monotonic() + LONGEST_S, ""
        while self._monotonic() < end_s and not self._closed.is_set():
            html = await rendered()
            # JSON has no line feed, which would end the event.
            event = ": nothing new\n\n" if html == sent else f"data: {json.dumps(html)}\n\n"
            sent = html
            try:
                await response.write(event.encode())
            except ConnectionError:
                break
            try:
                await asyncio.wait_for(self._closed.wait(), EVERY_S)
            except TimeoutError:
                continue
        return response
