"""Invalidation by a change at the origin (RFC 9111 4.4)."""

from urllib.parse import urljoin

from bestbefore.addon.rfc9111.message import Head, Request, Target

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""RFC 9110 9.2.1. Any other method, known or not, may change something."""


def invalidated(request: Request, head: Head) -> tuple[str, ...]:
    """Return the URLs whose copies this exchange invalidates.

    After an unsafe request with a 2xx or 3xx these are its target, and the URLs in Location and Content-Location, but
    only of the same origin: otherwise one site could empty the cache of another.
    """
    if request.method in SAFE_METHODS or not 200 <= head.status < 400:
        return ()
    target = request.target
    urls = [target.url]
    for name in ("location", "content-location"):
        reference = head.fields.first(name)
        other = None if reference is None else _resolved(target, reference)
        if other is not None and _origin(other) == _origin(target):
            urls.append(other.url)
    return tuple(dict.fromkeys(urls))


def _resolved(target: Target, reference: str) -> Target | None:
    try:
        return Target.parse(urljoin(target.url, reference))
    except ValueError:
        return None


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port
