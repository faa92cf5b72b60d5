"""Request collapsing: whether the response to one request may answer another that waited for it.

RFC 9111 4 allows collapsing if the response may be reused for each of the requests. A response that the origin
generated after a request arrived is as good as a validated one: it may answer even without remaining lifetime.
"""

from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.bypass import bypass_reason
from bestbefore.addon.rfc9111.caching.personal import may_use_learned_freshness
from bestbefore.addon.rfc9111.caching.reuse import Action, Reuse, decide
from bestbefore.addon.rfc9111.caching.vary import choose
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

COLLAPSED = "collapsed"
PATIENCE_S = 10.0
"""How long the first request that waits for another's contact waits for the head of the response; real seconds."""

type Distinctions = tuple[tuple[str, ...], ...]
_DISTINGUISHING = ("cookie", "authorization", "range", "if-range")
_NONE: Distinctions = ((),) * len(_DISTINGUISHING)


def may_join(request: Request, rule: DomainRule) -> bool:
    """Whether the request may share a contact with others.

    A request that requires a contact has its own, and so has a range request with a validator of its own: a 304 is not
    made of a 206.
    """
    fields = request.fields
    asked = of_request(fields, honour=rule.honour_client_cc)
    insists = asked.no_cache or asked.no_store or asked.max_age is not None or asked.min_fresh is not None
    is_conditional = "if-none-match" in fields or "if-modified-since" in fields
    sharable = request.method == "GET" and bypass_reason(request) is None and not ("range" in fields and is_conditional)
    return sharable and not insists


def distinctions(request: Request) -> Distinctions:
    """Return the credentials of a request, and the range that it asks for.

    Requests in which they differ never share a contact.
    """
    if request.fields.names().isdisjoint(_DISTINGUISHING):
        return _NONE
    return tuple(request.fields.values(name) for name in _DISTINGUISHING)


def range_fields(request: Request) -> Distinctions | None:
    """Return the range that a request asks for, empty if none; None if the request has credentials.

    Processes share contacts for requests without credentials only.
    """
    cookie, authorization, *ranged = distinctions(request)
    if cookie or authorization:
        return None
    return tuple(ranged) if any(ranged) else ()


def patience_s(number: int) -> float:
    """Return how long the request that is the `number`-th to wait for a contact waits, real seconds.

    It is not known yet whether the response can be shared. If it cannot (a long poll), few requests wait, and not for
    long. If it can, many requests wait for a slow origin, and only some of them may make contacts of their own: 2
    within 20 s, 4 within 30 s, 8 within 40 s.
    """
    return PATIENCE_S * number.bit_length()


def is_shareable(request: Request, copy: Copy, rule: DomainRule, site: Site, now_s: float) -> bool:
    """Whether the response to a request may answer equal requests that waited for it."""
    return shared_use(request, copy, rule, site, arrived_s=copy.response_time_s, now_s=now_s) is not None


def shared_use(
    request: Request, copy: Copy, rule: DomainRule, site: Site, *, arrived_s: float, now_s: float
) -> Reuse | None:
    """Decide on the reuse of another request's response for this one, which waited for it; None if not allowed.

    It may be if it is fresh, and no change of a sibling has probably outdated it; or if it is newer than this request,
    which came at `arrived_s`, unless it has `no-cache` or a request has credentials. A client that requests again while
    an older response still arrives may have seen that response.
    """
    if copy.client or choose([copy], request.fields, site.salt) is None:
        return None
    asked = of_request(request.fields, honour=rule.honour_client_cc)
    reuse = decide(request, asked, copy, now_s, rule, site.current_until_s(copy))
    if reuse.action is Action.FRESH and site.outdating(copy) is None:
        return reuse
    new = copy.response_time_s >= arrived_s
    if not new or copy.cache_control.no_cache or not may_use_learned_freshness(request, copy):
        return None
    return reuse._replace(action=Action.FRESH, reason=COLLAPSED)
