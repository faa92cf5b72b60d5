"""The decision on a request: serve a copy, ask the origin, or refuse."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, overload

from bestbefore.addon.engine import piggyback
from bestbefore.addon.engine.feed_delta import A_IM
from bestbefore.addon.engine.own_tag import without_own_tags
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.bypass import Bypass, bypass_reason, is_malformed
from bestbefore.addon.rfc9111.caching.personal import cookie_hash
from bestbefore.addon.rfc9111.caching.reuse import SIBLING, Action, Reuse, decide, expiry
from bestbefore.addon.rfc9111.caching.vary import accepted_encodings, choose
from bestbefore.addon.rfc9111.conditional import ranges
from bestbefore.addon.rfc9111.conditional.parts import Rest
from bestbefore.addon.rfc9111.conditional.validation import conditional
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import (
    LOOP_FIELD,
    end_to_end,
    has_passed,
    protected_in_request,
    with_via,
    without_named,
)
from bestbefore.addon.rfc9111.fields.directives import CacheControl, of_request
from bestbefore.addon.rfc9111.fields.syntax import is_token
from bestbefore.addon.rfc9111.message import Fields, Request
from bestbefore.addon.rules import DomainRule

HOST_MISMATCH = "host-mismatch"
"""Host names another server than the connection leads to: the response must not be stored under either name."""
OFFLINE = "offline"
ONLY_IF_CACHED = "only-if-cached"
LOOP = "loop"
LENGTH_WITHOUT_CONTENT = "length-without-content"
MISUSED_CONNECTION = "misused-connection"
WRONG_HOST = "wrong-host"
MALFORMED_REQUEST = "malformed-request"
_FRAMING_METHODS = frozenset(("HEAD", "CONNECT"))
"""Methods that decide where the response ends (RFC 9112 6.3)."""
LENGTH_DIGITS = 18
"""A Content-Length with more digits is invalid."""
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+;=-]+)(?::[0-9]*)?")
"""A valid Host; commas, which RFC 3986 3.2.2 allows, are refused, as they would make a list."""
MISDIRECTED = "misdirected"
PASSTHROUGH = "passthrough"
PREFETCH = "prefetch"


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request to the origin."""

    request: Request
    """The client's request; without Range if the origin is asked for the whole content."""
    sent: Request
    """The request that the origin gets."""
    fwd: Fwd
    detail: str
    chosen: Copy | None = None
    """The copy that would have answered if it had not expired."""
    candidates: tuple[Copy, ...] = ()
    """The copies whose validators are sent: a 304 may confirm one of them."""
    bypass: bool = False
    """The response is neither stored nor learnt from."""
    because: str = ""
    """The URL of the sibling whose change has outdated the copy; empty: there is another reason."""
    override_would_serve: bool = False
    """Whether `obey = "override"` would have served the copy without contact."""
    rest: Rest | None = None
    """The stored parts that the response completes."""
    in_background: bool = False
    """There is no client request: a refusal, such as 403 or 429, concerns the proxy, and does not affect the copies."""


@dataclass(frozen=True, slots=True)
class Serve:
    """Answer with a copy, without contact."""

    copy: Copy
    reuse: Reuse
    refresh: Ask | None = None
    """The request to send in the background (stale-while-revalidate)."""
    shorten_would_validate: bool = False
    """Whether `obey = "shorten"` would have validated the copy first."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an error of the proxy's own."""

    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class Load:
    """Load all copies of the URL from the store, then decide again: no copy in memory answers the request."""


def misframed(request: Request) -> str:
    """Return why an ambiguous request is refused with 400; empty if it is not ambiguous.

    `request` is unmodified as received, with its framing fields; `has_body` tells whether content follows its head.
    """
    fields, method = request.fields, request.method
    lengths = fields.values("content-length")
    if not request.has_body and any(length.strip("0 \t") for length in lengths):
        return LENGTH_WITHOUT_CONTENT  # RFC 9113 8.1.1
    if protected_in_request(fields):
        return MISUSED_CONNECTION
    if not is_one_host(fields.values("host")):
        return WRONG_HOST  # RFC 9112 3.2
    framed = all(coding.lower() == "chunked" for coding in fields.values("transfer-encoding"))
    if not framed or any(len(length) > LENGTH_DIGITS for length in lengths):
        return MALFORMED_REQUEST
    asks_for_all = request.target.path == "*" and method != "OPTIONS"  # RFC 9112 3.2.4
    # A server that ignores the case of methods would send no content in response to `head`.
    is_like_another = method not in _FRAMING_METHODS and method.upper() in _FRAMING_METHODS
    is_wrong = asks_for_all or is_like_another or not is_token(method) or is_malformed(request)
    return MALFORMED_REQUEST if is_wrong else ""


def is_one_host(hosts: Sequence[str]) -> bool:
    """Whether these Host lines name one server; True without any, as the target names the server then."""
    return len(hosts) <= 1 and all(map(_HOST.fullmatch, hosts))


def received(request: Request) -> Request:
    """Return the request without the fields that Connection names, which are not sent to the origin.

    Copies are selected only by fields that are sent to the origin. Returns the same object if nothing is removed.
    """
    fields = without_named(request.fields)
    return request if fields is request.fields else replace(request, fields=fields)


type Decision = Serve | Ask | Refuse


@overload
def on_request(
    request: Request,
    copies: Sequence[Copy],
    rule: DomainRule,
    site: Site,
    now_s: float,
    *,
    complete: Literal[True] = True,
) -> Decision: ...


@overload
def on_request(
    request: Request, copies: Sequence[Copy], rule: DomainRule, site: Site, now_s: float, *, complete: bool
) -> Decision | Load: ...


def on_request(
    request: Request, copies: Sequence[Copy], rule: DomainRule, site: Site, now_s: float, *, complete: bool = True
) -> Decision | Load:
    """Decide on a request that `received` has returned, given the copies of its URL and partition.

    `complete`: whether these are all copies. If not, a decision that needs all is `Load`.
    """
    if has_passed(request.fields, site.name):
        return Refuse(508, LOOP)
    asked = of_request(request.fields, honour=rule.honour_client_cc)
    bypass = bypass_reason(request) or (HOST_MISMATCH if names_another_host(request) else None)
    if bypass is not None:
        return _no_contact(request, asked, site) or _bypassing(request, bypass, site)
    copy = choose(copies, request.fields, site.salt)
    if copy is None and not complete:
        return Load()
    if copy is None:
        fwd = Fwd.VARY_MISS if copies else Fwd.URI_MISS
        return _no_contact(request, asked, site) or _ask(request, rule, site, fwd, "")
    reuse = decide(request, asked, copy, now_s, rule, site.current_until_s(copy))
    because = ""
    if reuse.action is Action.FRESH and not site.offline and not asked.only_if_cached:
        change = site.outdating(copy)
        if change is not None:
            reuse = decide(request, asked, copy, now_s, rule, outdated_s=change.update_s)
            because = change.name if reuse.reason == SIBLING else ""
    if reuse.action in (Action.FRESH, Action.STALE):
        return Serve(copy, reuse, shorten_would_validate=_shorten_would_validate(copy, rule, now_s))
    if not complete:
        return Load()
    if site.is_offline_for(request.target.host):
        return Serve(copy, reuse._replace(action=Action.STALE, reason=OFFLINE))
    if asked.only_if_cached:
        return Refuse(504, ONLY_IF_CACHED)
    candidates = (copy, *_others(copies, copy, request, site.salt))
    background = reuse.action is Action.STALE_WHILE_REVALIDATE
    asking = ranges.whole(request) if background else _part_or_whole(request, candidates)
    ask = _ask(asking, rule, site, reuse.fwd or Fwd.STALE, reuse.reason, copy, candidates)
    ask = replace(ask, because=because)
    if background:
        return Serve(copy, reuse, refresh=ask)
    return replace(ask, override_would_serve=_override_would_serve(request, copy, rule, now_s))


def ask_again(
    request: Request, copies: Sequence[Copy], rule: DomainRule, site: Site, *, watched: bool = False
) -> Ask | None:
    """Return the validation of the copy that would answer a request, for a refresh without a client.

    The copy may still be fresh. Without such a copy that has a validator: the fetch of the whole object if it is
    `watched`, else None. None also if no contact is allowed.
    """
    copy = choose(copies, request.fields, site.salt)
    if copy is None or not copy.has_validator:
        ask = _ask(request, rule, site, Fwd.URI_MISS, PREFETCH) if watched else None
    else:
        candidates = (copy, *_others(copies, copy, request, site.salt))
        ask = _ask(request, rule, site, Fwd.STALE, PREFETCH, copy, candidates)
    return None if ask is None or site.offline else replace(ask, in_background=True)


def _no_contact(request: Request, asked: CacheControl, site: Site) -> Refuse | None:
    if site.is_offline_for(request.target.host):
        return Refuse(504, OFFLINE)
    return Refuse(504, ONLY_IF_CACHED) if asked.only_if_cached else None


def names_another_host(request: Request) -> bool:
    """Whether the request has a Host that differs from the target's."""
    hosts = request.fields.values("host")
    if len(hosts) == 1 and hosts[0] == request.target.authority:  # as usual
        return False
    return len(hosts) > 1 or (bool(hosts) and hosts[0].strip().lower() not in _names_of(request))


def _names_of(request: Request) -> tuple[str, ...]:
    target = request.target
    bare = f"[{target.host}]" if ":" in target.host else target.host
    ends = (target.authority.removeprefix(bare), f":{target.port}")
    return tuple(name + end for name in (bare, bare + ".") for end in ends)


def _others(copies: Sequence[Copy], chosen: Copy, request: Request, salt: bytes) -> tuple[Copy, ...]:
    """Return further copies whose entity tags may be sent: not those that are bound to the cookie of another user."""
    own = ("", cookie_hash(request.fields, salt)) if any(copy.personal for copy in copies) else ("",)
    return tuple(copy for copy in copies if copy is not chosen and copy.etag is not None and copy.personal in own)


def _part_or_whole(request: Request, candidates: Sequence[Copy]) -> Request:
    """Return the request to the origin for a range request: for the range, or for the whole content.

    For the whole content if a copy can be confirmed. Usually it is, by a 304, and the range is taken from the copy.
    Else the 200 can be learnt from and shared, unlike a 206. (With both Range and the proxy's validators, which
    RFC 9111 4.3.1 leaves open, a change would bring a 206, and the old copy would be validated again and again.)

    Otherwise for the range: a client that seeks in a video or resumes a download must not wait for the rest.
    """
    return ranges.whole(request) if any(copy.has_validator for copy in candidates) else request


def _ask(
    request: Request,
    rule: DomainRule,
    site: Site,
    fwd: Fwd,
    detail: str,
    chosen: Copy | None = None,
    candidates: tuple[Copy, ...] = (),
) -> Ask:
    fields = end_to_end(request.fields)
    if candidates:
        fields = conditional(fields, candidates)
    encodings = accepted_encodings(request.fields)
    # The proxy makes deltas itself: a delta from the origin could not be stored for other clients.
    fields = without_own_tags(fields).without({"accept-encoding", "want-update-history", A_IM})
    if encodings is not None:
        fields = fields.added(("Accept-Encoding", encodings))
    if rule.trust_piggyback:
        fields = fields.added((piggyback.WANT, "?1"))
    return Ask(request, replace(request, fields=marked(fields, site)), fwd, detail, chosen, candidates)


def on_passed_through(request: Request, site: Site) -> Ask | Refuse:
    """Decide on a request for a host under passthrough."""
    if has_passed(request.fields, site.name):
        return Refuse(508, LOOP)
    return _no_contact(request, of_request(request.fields), site) or _bypassing(request, PASSTHROUGH, site)


def _bypassing(request: Request, why: str, site: Site) -> Ask:
    sent = replace(request, fields=marked(without_own_tags(end_to_end(request.fields)), site))
    return Ask(request, sent, Fwd.METHOD if why == Bypass.METHOD else Fwd.BYPASS, why, bypass=True)


def marked(fields: Fields, site: Site) -> Fields:
    """Return the fields of a request for the origin with Via, by which the proxy detects loops."""
    return with_via(fields, "1.1", site.name, "Via" if site.via_request else LOOP_FIELD)


def unconditional(ask: Ask) -> Ask:
    """Return the same request without conditions: the origin's 304 matched none of the copies."""
    fields = ask.sent.fields.without({"if-none-match", "if-modified-since"})
    return replace(ask, sent=replace(ask.sent, fields=fields), candidates=())


def _shorten_would_validate(copy: Copy, rule: DomainRule, now_s: float) -> bool:
    ruled_by_origin = rule.obey == "strict" and copy.lifetime is not None and not copy.cache_control.immutable
    return ruled_by_origin and copy.expiry_s is not None and copy.expiry_s <= now_s


def _override_would_serve(request: Request, copy: Copy, rule: DomainRule, now_s: float) -> bool:
    if rule.obey == "override" or copy.lifetime is None:
        return False
    overridden = expiry(request, copy, replace(rule, obey="override")).expiry_s
    return overridden is not None and overridden > now_s
