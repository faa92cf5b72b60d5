"""The sharing of one fetch: whether an answer to one client may answer another that asks for the same meanwhile.

RFC 9111 4 allows to collapse requests where the response may be reused for each of them. A response that the origin
made after a request came is as good as one that was validated for it: it may answer although it has no lifetime left.
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


def may_join(request: Request, rule: DomainRule) -> bool:
    """Whether the request may wait for the answer to another, or others for the answer to it.

    One that insists on the origin has its own contact, and so has one that asks it for a part: that cannot be shared.
    """
    asked = of_request(request.fields, honour=rule.honour_client_cc)
    insists = asked.no_cache or asked.no_store or asked.max_age is not None or asked.min_fresh is not None
    sharable = request.method == "GET" and bypass_reason(request) is None and "range" not in request.fields
    return sharable and not insists


def shared_use(
    request: Request, copy: Copy, rule: DomainRule, site: Site, *, arrived_s: float, now_s: float
) -> Reuse | None:
    """Return how the copy of another request's answer answers this one, which waited for it; None if it may not.

    It may if it is fresh; or by its being new, unless it is `no-cache`, or a credential is in play. New is what came
    after this request, at `arrived_s`: who asks while content of an earlier answer is still on its way may have seen
    that answer already.
    """
    if choose([copy], request.fields, site.salt) is None:
        return None
    reuse = decide(request, of_request(request.fields, honour=rule.honour_client_cc), copy, now_s, rule)
    if reuse.action is Action.FRESH:
        return reuse
    new = copy.response_time_s >= arrived_s
    if not new or copy.cache_control.no_cache or not may_use_learned_freshness(request, copy):
        return None
    return reuse._replace(action=Action.FRESH, reason=COLLAPSED)
