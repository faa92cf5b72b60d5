"""Who may see the pages, and who may act.

Pages bear URLs and clients, which are personal data. They are for a browser or program on this machine, or for those
who know a password of the configuration. No page of another origin may read them or act through a browser here: the
admin server checks Host, and this module Origin and the fetch metadata of browsers.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from aiohttp import web
from cachetools import LRUCache
from multidict import CIMultiDictProxy

from bestbefore.addon.proxy.access.access import Access, is_loopback

ATTEMPTS = 10
"""How many wrong passwords an address may send in `ATTEMPTS_S`; after that also the right one is refused."""
ATTEMPTS_S = 60.0
ADDRESSES = 4096
"""For how many addresses wrong passwords are counted, those that sent one last."""

_PASSED_ON = ("via", "forwarded", "x-forwarded-", "x-real-ip")
"""Fields by which another proxy on this machine says that the client may be elsewhere."""


class DashboardAccess:
    """Checks requests. A method that refuses raises the answer."""

    def __init__(self, users: Mapping[str, str], monotonic: Callable[[], float]) -> None:
        """`users`: passwords by name, for other machines; none: only this machine sees the pages."""
        self._access = Access(users=users)
        self._monotonic = monotonic
        self._wrong: LRUCache[str, list[float]] = LRUCache(ADDRESSES)
        self.token = secrets.token_urlsafe(24)
        """Each form bears it, and no page of another origin can read it."""

    def check(self, request: web.Request) -> None:
        """Refuse a request whose page its sender may not see."""
        _check_origin(request)
        if is_here(request):
            return
        if not self._access.users:
            raise web.HTTPForbidden(
                text="403: these pages are for the machine of the proxy; for others, set admin_credentials\n"
            )
        self._check_password(request)

    def check_action(self, request: web.Request, token: object) -> None:
        """Refuse an action that no form of ours on this machine has sent."""
        if not is_here(request):
            raise web.HTTPForbidden(text="403: actions are for the machine of the proxy\n")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise web.HTTPForbidden(text="403: the page is of an earlier start of the proxy: load it again\n")

    def _check_password(self, request: web.Request) -> None:
        address, now_s = request.remote or "", self._monotonic()
        wrong = [at_s for at_s in self._wrong.get(address, ()) if at_s > now_s - ATTEMPTS_S]
        if len(wrong) >= ATTEMPTS:
            raise web.HTTPTooManyRequests(
                text="429: too many wrong passwords\n", headers={"Retry-After": str(round(ATTEMPTS_S))}
            )
        given = request.headers.get("Authorization")
        if self._access.user(given):
            return
        if given is not None:
            self._wrong[address] = [*wrong, now_s]
        raise web.HTTPUnauthorized(
            text="401: name and password, please\n",
            headers={"WWW-Authenticate": 'Basic realm="bestbefore dashboard", charset="UTF-8"'},
        )


def is_here(request: web.Request) -> bool:
    """Whether a request comes from this machine: its connection does, and no proxy has passed it on."""
    passed_on = any(name.lower().startswith(_PASSED_ON) for name in request.headers)
    return is_loopback(request.remote or "") and not passed_on


def _check_origin(request: web.Request) -> None:
    """Refuse what a page of another origin has caused, except to be shown by itself after a click on a link."""
    fields = request.headers
    site, origin = fields.get("Sec-Fetch-Site"), fields.get("Origin")
    is_own = site in (None, "same-origin", "none")
    if not is_own and not _is_shown_by_itself(request.method, fields):
        raise web.HTTPForbidden(text="403: a page of another origin has asked for this\n")
    if origin is not None and urlsplit(origin).netloc != fields.get("Host"):
        raise web.HTTPForbidden(text="403: a page of another origin has asked for this\n")


def _is_shown_by_itself(method: str, fields: CIMultiDictProxy[str]) -> bool:
    is_navigation = (fields.get("Sec-Fetch-Mode"), fields.get("Sec-Fetch-Dest")) == ("navigate", "document")
    return is_navigation and method == "GET"
