"""The routes of the dashboard on the admin address, and the fields of all its answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType

from aiohttp import web

from bestbefore.addon.dashboard import programs, static
from bestbefore.addon.dashboard.access import DashboardAccess, is_here
from bestbefore.addon.dashboard.actions import DONE, Actor, Form
from bestbefore.addon.dashboard.comparison.comparison import PolicyComparison
from bestbefore.addon.dashboard.live import Live
from bestbefore.addon.dashboard.pages import (
    configuration,
    domains,
    feeds,
    objects,
    overview,
    plan,
    policies,
    requests,
    tunnels,
)
from bestbefore.addon.dashboard.pages.page import Asked, PageMissingError, PageView
from bestbefore.addon.dashboard.recent import RecentRequests
from bestbefore.addon.dashboard.rendering import render
from bestbefore.addon.dashboard.source import ProxySource
from bestbefore.addon.store.backend.interface import (
    CommandError,
    StoreInputError,
    StoreUnusableError,
    UnavailableError,
    UnwritableError,
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
FIELDS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send `Origin: null` with our own forms
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ACTION_S = 30.0
"""How long an action may take; one on a store that is down waits for it."""
STATIC = {"dashboard.css": "text/css", "dashboard.js": "text/javascript", "icon.svg": "image/svg+xml"}
STORE_ERRORS = (UnavailableError, UnwritableError, CommandError, StoreUnusableError, StoreInputError)


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A page in the navigation."""

    path: str
    title: str
    read: Callable[[Asked], Awaitable[PageView]]


PAGES = (
    NavigationEntry("/", "Overview", overview.read),
    NavigationEntry("/requests", "Requests", requests.read),
    NavigationEntry("/domains", "Domains", domains.read),
    NavigationEntry("/objects", "Objects", objects.read),
    NavigationEntry("/feeds", "Feeds", feeds.read),
    NavigationEntry("/plan", "Plan", plan.read),
    NavigationEntry("/policies", "Policies", policies.read),
    NavigationEntry("/tunnels", "Tunnels", tunnels.read),
    NavigationEntry("/configuration", "Configuration", configuration.read),
)


class Dashboard:
    """The pages of one proxy."""

    def __init__(self, source: ProxySource, users: Mapping[str, str]) -> None:
        """`users`: passwords by name, with which other machines see the pages."""
        self._source = source
        self._access = DashboardAccess(users, source.clock.monotonic)
        self._recent = RecentRequests(source, source.clock.monotonic)
        self._live = Live(source.clock.monotonic)
        clock = source.clock
        self._comparison = PolicyComparison(source.config.settings.state, clock.now, clock.monotonic)

    def mount(self, application: web.Application) -> None:
        """Add the routes to an application that checks Host."""
        for entry in PAGES:
            application.router.add_get(entry.path, self._page(entry), allow_head=False)
        application.router.add_post("/configuration", self._check_configuration)
        for path, content in ((programs.TOP_PATH, programs.top), (programs.REQUESTS_PATH, programs.requests)):
            application.router.add_get(path, self._program(content), allow_head=False)
        application.router.add_post("/act", self._act)
        application.router.add_get("/live", self._changes, allow_head=False)
        for name in STATIC:
            application.router.add_get(f"/static/{name}", _static, allow_head=False)
        application.on_response_prepare.append(_add_fields)
        application.on_shutdown.append(self._shut_down)

    async def _shut_down(self, application: web.Application) -> None:  # noqa: ARG002
        self._live.close()
        await self._comparison.close()
        self._recent.close()

    def _page(self, entry: NavigationEntry) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def show(request: web.Request) -> web.Response:
            self._access.check(request)
            status, html = await self._rendered(entry, request, whole=True)
            return web.Response(text=html, status=status, content_type="text/html", charset="utf-8")

        return show

    def _program(self, content: programs.Content) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def show(request: web.Request) -> web.Response:
            self._access.check(request)
            try:
                return programs.answer(await content(self._source, self._recent, dict(request.query)))
            except STORE_ERRORS as error:
                raise web.HTTPServiceUnavailable(text=f"503: the store does not answer: {error}\n") from None

        return show

    async def _check_configuration(self, request: web.Request) -> web.Response:
        self._access.check(request)
        form = await request.post()
        self._access.check_action(request, form.get("token"))
        entry = next(one for one in PAGES if one.path == request.path)
        status, html = await self._rendered(entry, request, whole=True, form=form)
        return web.Response(text=html, status=status, content_type="text/html", charset="utf-8")

    async def _rendered(
        self, entry: NavigationEntry, request: web.Request, *, whole: bool, form: Form = MappingProxyType({})
    ) -> tuple[int, str]:
        """Return status and HTML of a page, or of the part of it that is live."""
        status, source = 200, self._source
        await source.refresh()
        asked = Asked(
            source, self._recent, self._comparison, dict(request.query), source.clock.now(), is_here(request), form
        )
        try:
            page = await entry.read(asked)
        except PageMissingError as error:
            status, page = 404, PageView("message.html", "Nothing is known of this", {"message": str(error)})
        except STORE_ERRORS as error:
            status, page = 503, PageView("message.html", "The store does not answer", {"message": str(error)})
        values = {
            **page.values,
            "title": page.title,
            "pages": PAGES,
            "here": entry.path,
            "live": f"/live?page={entry.path}&{request.query_string}" if page.is_live else None,
            "now_s": asked.now_s,
            "done": DONE.get(request.query.get("done", "")),
            "token": self._access.token if is_here(request) else None,
            "version": version("bestbefore"),
            "partial": page.template,
        }
        # In a thread: in a process that serves, rendering must not keep requests waiting.
        return status, await asyncio.to_thread(render, "base.html" if whole else page.template, values)

    async def _act(self, request: web.Request) -> web.Response:
        self._access.check(request)
        form = await request.post()
        self._access.check_action(request, form.get("token"))
        try:
            path = await asyncio.wait_for(Actor(self._source, self._comparison).act(form), ACTION_S)
        except TimeoutError:
            raise web.HTTPServiceUnavailable(text="503: the store does not answer\n") from None
        except STORE_ERRORS as error:
            raise web.HTTPServiceUnavailable(text=f"503: {error}\n") from None
        except ValueError as error:
            raise web.HTTPBadRequest(text=f"400: {error}\n") from None
        raise web.HTTPSeeOther(path)

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        self._access.check(request)
        entry = next((one for one in PAGES if one.path == request.query.get("page")), None)
        if entry is None:
            raise web.HTTPNotFound(text="404: there is no such page\n")

        async def rendered() -> str:
            return (await self._rendered(entry, request, whole=False))[1]

        return await self._live.send(request, rendered)


async def _static(request: web.Request) -> web.Response:
    name = request.path.removeprefix("/static/")
    content = files(static).joinpath(name).read_bytes()
    return web.Response(body=content, content_type=STATIC[name], charset="utf-8")


async def _add_fields(request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG001
    response.headers.update(FIELDS)
