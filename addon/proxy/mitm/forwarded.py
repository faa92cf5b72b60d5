"""Requests that mitmproxy forwards itself: those that ask for an upgrade, and have no content."""

import asyncio
import re
from dataclasses import dataclass, replace

from bestbefore.addon.engine import heads, piggyback
from bestbefore.addon.engine.request import marked
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.origin.framing import FIELD_LINE, MADE_HERE
from bestbefore.addon.rfc9111.caching.bypass import Bypass
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import connection_options, end_to_end
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Passing:
    """A request that passes through mitmproxy."""

    request: Request
    time_s: float
    """Policy time."""
    started_s: float
    """Monotonic."""
    deadline: asyncio.TimerHandle | None = None
    """Ends the exchange if no answer comes."""

    @property
    def why(self) -> str:
        """The reason why the cache did not handle it."""
        return Bypass.UPGRADE

    def answered(self) -> None:
        """A head has come, or never will."""
        if self.deadline is not None:
            self.deadline.cancel()


def asked_protocols(fields: Fields) -> tuple[str, ...]:
    """Return the protocols that a request asks its connection to change to (RFC 9110 7.8).

    Never HTTP/2: through such a connection requests would pass that no rule of the proxy sees.
    """
    if "upgrade" not in fields or "upgrade" not in connection_options(fields):
        return ()
    asked = (name for line in fields.values("upgrade") for name in list_members(line))
    return tuple(name for name in asked if not name.lower().startswith("h2"))


def sent_fields(request: Request, site: Site) -> Fields:
    """The fields of a request for an upgrade as the origin gets them. Host is the target's, and nothing frames."""
    own = (("Host", request.target.authority), ("Connection", "Upgrade"))
    upgrade = ("Upgrade", ", ".join(asked_protocols(request.fields)))
    rest = end_to_end(request.fields).without(MADE_HERE)
    return marked(Fields((*own, upgrade, *rest.raw)), site)


def is_understood(request: Request, head: Head) -> bool:
    """Return whether an answer can be passed on.

    It has nothing but fields, and is final and framed in one way, or switches to what was asked for. mitmproxy takes an
    interim response for the final one, and content in another coding for content that ends with the connection.
    """
    lines = (f"{name}: {value}".encode("latin-1", "replace") for name, value in head.fields.raw)
    if not all(FIELD_LINE.fullmatch(line) for line in lines):
        return False
    if head.status != 101:
        codings = [coding.lower() for coding in head.fields.values("transfer-encoding")]
        return 200 <= head.status <= 599 and codings in ([], ["chunked"])
    asked = {name.lower() for name in asked_protocols(request.fields)}
    given = {name.lower() for line in head.fields.values("upgrade") for name in list_members(line)}
    return bool(given) and given <= asked


def passed_head(passing: Passing, head: Head, now_s: float, site: Site) -> Head:
    """The head of a response as the client gets it."""
    member = cache_status.forwarded(Fwd.BYPASS, fwd_status=head.status, detail=passing.why)
    passed = heads.passed_on(head, now_s, member, site)
    reason = _CONTROL.sub("", head.reason)  # mitmproxy takes it as it comes
    fields = _with_framing(head, passed.fields.without({piggyback.UPDATES.lower()}))
    return replace(passed, reason=reason, fields=fields)


def _with_framing(head: Head, fields: Fields) -> Fields:
    """mitmproxy frames what it passes on by the fields, so these stay; it would end a 304 with a chunk, too."""
    original = head.fields
    has_content = head.status not in (204, 304)
    framing = [line for line in original.raw if has_content and line[0].lower() == "transfer-encoding"]
    if asked_protocols(original):
        framing += [*((name, value) for name, value in original.raw if name.lower() == "upgrade")]
        framing.append(("Connection", "Upgrade"))
    return fields.added(*framing)
