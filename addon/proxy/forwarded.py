"""Requests that mitmproxy forwards itself: other methods, bodies, upgrades. They pass, and may change things."""

from dataclasses import dataclass, replace

from bestbefore.addon.engine import heads, piggyback
from bestbefore.addon.engine.request import marked
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111 import cache_status
from bestbefore.addon.rfc9111.bypass import Bypass, bypass_reason
from bestbefore.addon.rfc9111.cache_status import Fwd
from bestbefore.addon.rfc9111.connection import connection_options, end_to_end
from bestbefore.addon.rfc9111.message import Fields, Head, Request

UNTOUCHED = "untouched"
"""Of a host under passthrough, or with bytes that our own fetch would change."""
_FRAMING = ("transfer-encoding", "upgrade")


@dataclass(frozen=True, slots=True)
class Passing:
    """A request on its way through mitmproxy."""

    request: Request
    time_s: float
    """Policy time."""
    started_s: float
    """Monotonic."""

    @property
    def why(self) -> str:
        """Why the cache did not take it."""
        return bypass_reason(self.request) or UNTOUCHED


def sent_fields(request: Request, site: Site) -> Fields:
    """The fields of a request as the origin gets them. mitmproxy frames it by the fields, so those stay."""
    return marked(_with_framing(request.fields, end_to_end(request.fields)), site)


def passed_head(passing: Passing, head: Head, now_s: float, site: Site) -> Head:
    """The head of a response as the client gets it."""
    fwd = Fwd.METHOD if passing.why is Bypass.METHOD else Fwd.BYPASS
    member = cache_status.forwarded(fwd, fwd_status=head.status, detail="" if fwd is Fwd.METHOD else passing.why)
    told = heads.passed_on(head, now_s, member, site)
    fields = _with_framing(head.fields, told.fields.without({piggyback.UPDATES.lower()}))
    if "close" in connection_options(passing.request.fields):
        # mitmproxy looks for it in the request, from which it was taken, or here.
        fields = fields.added(("Connection", "close"))
    return replace(told, fields=fields)


def _with_framing(original: Fields, fields: Fields) -> Fields:
    framing = [line for line in original.raw if line[0].lower() in _FRAMING]
    if "upgrade" in connection_options(original):
        framing.append(("Connection", "Upgrade"))
    else:
        framing = [line for line in framing if line[0].lower() != "upgrade"]
    return fields.added(*framing)
