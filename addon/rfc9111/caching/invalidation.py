"""Invalidation by a change at the origin (RFC 9111 4.4, RFC 9875 3)."""

from urllib.parse import urljoin

from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUP_INVALIDATION, groups_named
from bestbefore.addon.rfc9111.message import Head, Request, Target

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""RFC 9110 9.2.1. Any other method, known or not, may change something."""


def invalidated(request: Request, head: Head) -> tuple[str, ...]:
    """Return the URLs whose copies this exchange invalidates.

    After an unsafe request with a 2xx or 3xx these are its target, and the URLs in Location and Content-Location, but
    only of the same origin: otherwise one site could empty the cache of another.
    """
    if not _changes_something(request, head):
        return ()
    target = request.target
    urls = [target.url]
    for name in ("location", "content-location"):
        reference = head.fields.first(name)
        other = None if reference is None else _resolved(target, reference)
        if other is not None and _origin(other) == _origin(target):
            urls.append(other.url)
    return tuple(dict.fromkeys(urls))


def invalidated_groups(request: Request, head: Head) -> tuple[str, ...]:
    """Return the keys of the groups of the target's origin that this exchange invalidates."""
    if not _changes_something(request, head):
        return ()
    return groups_named(head.fields, CACHE_GROUP_INVALIDATION, request.target.url)


def _changes_something(request: Request, head: Head) -> bool:
    return request.method not in SAFE_METHODS and 200 <= head.status < 400


def _resolved(target: Target, reference: str) -> Target | None:
    try:
        return Target.parse(urljoin(target.url, reference))
    except ValueError:
        return None


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port
