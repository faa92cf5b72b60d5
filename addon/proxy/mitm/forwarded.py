"""Requests that mitmproxy forwards itself: those for an upgrade, without content."""

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import Self

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import http as layers

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads, piggyback
from bestbefore.addon.engine.request import marked
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.origin.framing import FIELD_LINE, HOP_FIELDS
from bestbefore.addon.rfc9111.caching.bypass import Bypass
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import connection_options, end_to_end
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request

PASSED = "bestbefore_passed"
"""The metadata key of a flow under which its `PassedBytes` are kept."""
STARTED = "bestbefore_started"
"""The same for the time at which the first byte of the request was read, by the monotonic clock."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(slots=True)
class PassedBytes:
    """The content that has passed in an exchange, a tunnel or an upgraded connection so far, bytes."""

    uploaded: int = 0
    """From the client."""
    sent: int = 0
    """To the client."""

    def counted(self, event: Event, handled: CommandGenerator[None], client: Client) -> CommandGenerator[None]:
        """Count the content in an event of a stream, and in the commands that follow from it; yield these."""
        if isinstance(event, layers.RequestData):
            self.uploaded += len(event.data)
        for command in handled:
            if isinstance(command, layers.SendHttp) and command.connection is client:
                self.sent += len(getattr(command.event, "data", b""))
            yield command


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request that mitmproxy forwards."""

    request: Request
    time_s: float
    """When it was received, in policy time."""
    started_s: float
    """When it was received, by the monotonic clock."""
    deadline: asyncio.TimerHandle | None = None
    """Closes the connection to the origin if no response comes."""
    passed: PassedBytes = field(default_factory=PassedBytes)

    @classmethod
    def of(cls, flow: HTTPFlow, request: Request, clock: Clock) -> Self:
        """Return the request of a flow, in which `stream` has noted when its first byte was read."""
        return cls(request, clock.now(), flow.metadata.get(STARTED, clock.monotonic()))

    @property
    def url(self) -> str:
        """The target as logged: `host:port` of a tunnel, else the URL."""
        target = self.request.target
        return f"{target.host}:{target.port}" if self.request.method == "CONNECT" else target.url

    def answered(self) -> None:
        """Cancel the deadline: the head of the response has come, or the exchange has failed."""
        if self.deadline is not None:
            self.deadline.cancel()


def upgrade_protocols(fields: Fields) -> tuple[str, ...]:
    """Return the protocols that a request asks its connection to change to (RFC 9110 7.8).

    HTTP/2 is left out: no rule of the proxy would be applied to the requests on such a connection.
    """
    if "upgrade" not in fields or "upgrade" not in connection_options(fields):
        return ()
    requested = (name for line in fields.values("upgrade") for name in list_members(line))
    return tuple(name for name in requested if not name.lower().startswith("h2"))


def upgrade_request_fields(request: Request, site: Site) -> Fields:
    """Return the fields of an upgrade request as the origin gets them: the target's Host, and no framing fields."""
    own = (("Host", request.target.authority), ("Connection", "Upgrade"))
    upgrade = ("Upgrade", ", ".join(upgrade_protocols(request.fields)))
    rest = end_to_end(request.fields).without(HOP_FIELDS)
    return marked(Fields((*own, upgrade, *rest.raw)), site)


def can_be_forwarded(request: Request, head: Head) -> bool:
    """Whether the proxy can forward the response to an upgrade request.

    Its head must be well-formed. It must be final and framed in one way, or switch to a protocol that was requested:
    mitmproxy would take an interim response for the final one, and content in another coding for content that ends with
    the connection.
    """
    lines = (f"{name}: {value}".encode("latin-1", "replace") for name, value in head.fields.raw)
    if not all(FIELD_LINE.fullmatch(line) for line in lines):
        return False
    if head.status != 101:
        codings = [coding.lower() for coding in head.fields.values("transfer-encoding")]
        return 200 <= head.status <= 599 and codings in ([], ["chunked"])
    requested = {name.lower() for name in upgrade_protocols(request.fields)}
    switched_to = {name.lower() for line in head.fields.values("upgrade") for name in list_members(line)}
    return bool(switched_to) and switched_to <= requested


def upgrade_response_head(head: Head, now_s: float, site: Site) -> Head:
    """Return the head of a response to an upgrade request as the client gets it."""
    member = cache_status.forwarded(Fwd.BYPASS, fwd_status=head.status, detail=Bypass.UPGRADE)
    passed = heads.forwarded(head, now_s, member, site)
    reason = _CONTROL.sub("", head.reason)  # mitmproxy does not validate the reason phrase
    fields = _with_framing(head, passed.fields.without(piggyback.RESPONSE_FIELDS))
    return replace(passed, reason=reason, fields=fields)


def _with_framing(head: Head, fields: Fields) -> Fields:
    """Keep the framing fields, by which mitmproxy frames the response; but not of a 304, which has no content."""
    original = head.fields
    has_content = head.status not in (204, 304)
    framing = [line for line in original.raw if has_content and line[0].lower() == "transfer-encoding"]
    if upgrade_protocols(original):
        framing += [*((name, value) for name, value in original.raw if name.lower() == "upgrade")]
        framing.append(("Connection", "Upgrade"))
    return fields.added(*framing)
