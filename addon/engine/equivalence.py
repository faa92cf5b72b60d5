"""The use of a copy of another URL, whose origin says that the difference does not matter (No-Vary-Search)."""

from collections.abc import Sequence
from dataclasses import replace

from bestbefore.addon.engine.request import Serve, on_request
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.search_variance import SearchVariance
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request, Target
from bestbefore.addon.rules import DomainRule


def equivalent(request: Request, url: str) -> Request | None:
    """Return the same request for another URL; None if that differs in more than the query."""
    target = Target.parse(url)
    is_same = replace(target, path="") == replace(request.target, path="")
    same_path = target.path.partition("?")[0] == request.target.path.partition("?")[0]
    return replace(request, target=target) if is_same and same_path else None


def on_equivalent(
    request: Request, other: Request, copies: Sequence[Copy], rule: DomainRule, site: Site, now_s: float
) -> Serve | None:
    """Return how a copy of an equivalent URL answers a request without contact; None if none does.

    Any contact is for the request's own URL, so the origin is never asked for a URL that the client has not named.
    """
    decision = on_request(other, copies, rule, site, now_s)
    if not isinstance(decision, Serve) or decision.refresh is not None:
        return None
    variance = SearchVariance.of(decision.copy.head.fields)
    return decision if variance and variance.are_equivalent(request.target.path, other.target.path) else None
