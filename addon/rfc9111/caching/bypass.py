"""Requests that bypass the cache: they are never answered from the store."""

import re
from enum import StrEnum
from functools import lru_cache

from bestbefore.addon.rfc9111.message import Fields, Request


class Bypass(StrEnum):
    """The reason for a bypass, for log, metrics and Cache-Status."""

    METHOD = "method"
    """Neither GET nor HEAD."""
    BODY = "request-body"
    """GET or HEAD with content, which is not part of the cache key."""
    UNKEYED = "unkeyed-field"
    """A field by which origins may select the response without naming it in Vary."""
    UPGRADE = "upgrade"
    PRECONDITION = "precondition"
    """If-Match and If-Unmodified-Since are for the origin (RFC 9111 4.3.2)."""
    DICTIONARY = "available-dictionary"
    """Content that only clients with this dictionary can decode (RFC 9842)."""


_UNKEYED = frozenset((
    # Another host, scheme, port or path than those of the target
    *("base-url", "forwarded", "front-end-https", "proxy-host", "proxy-url", "request-uri", "x-backend-host"),
    *("x-envoy-original-dst-host", "x-envoy-original-host", "x-envoy-original-path", "x-host", "x-http-destinationurl"),
    *("x-http-host", "x-http-host-override", "x-https", "x-original-host", "x-original-uri", "x-original-url"),
    *("x-proxy-host", "x-proxy-url", "x-real-host", "x-real-uri", "x-real-url", "x-request-uri", "x-rewrite-path"),
    *("x-rewrite-uri", "x-rewrite-url", "x-scheme", "x-server-name", "x-url-scheme"),
    # Another method
    *("x-http-method", "x-http-method-override", "x-method", "x-method-override"),
    # Another client
    *("client-ip", "cluster-client-ip", "incap-client-ip", "proxy-client-ip", "remote-addr", "true-client-ip"),
    *("wl-proxy-client-ip", "x-client-ip", "x-cluster-client-ip", "x-custom-ip-authorization", "x-originating-ip"),
    *("x-proxyuser-ip", "x-real-ip", "x-remote-addr", "x-remote-ip", "x-true-client-ip"),
    # Another form of the answer: Next.js, React Router, SvelteKit, Symfony and Drupal (ESI), Rack, S3, CGI
    *("next-action", "next-url", "rsc", "x-invoke-path", "x-invoke-query", "x-invoke-status", "x-matched-path"),
    *("x-nextjs-data", "x-now-route-matches", "x-react-router-prerender-data", "x-react-router-spa-mode"),
    *("x-sveltekit-invalidated", "x-sveltekit-pathname", "surrogate-capability", "x-accel-mapping", "x-sendfile-type"),
    *("x-amz-website-redirect-location", "proxy"),
))
"""Fields that origins obey without Vary, by published work on cache poisoning, and that usual clients do not send.

Fields that usual clients send are not listed, such as Origin, Referer, X-Requested-With and X-Wap-Profile.
"""
_UNKEYED_BEGINNINGS = (
    "cf-", "cloudfront-", "fastly-", "next-router-", "x-appengine-", "x-azure-", "x-forward", "x-middleware-",
    "x-vercel-",
)  # fmt: skip
"""Prefixes of such fields: of networks in front of an origin, and of families of fields."""
USUAL_BYTES = 4096
"""The usual limit on the size of all fields of a request; servers accept from 8 KiB (Apache, nginx) to 64 KiB."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_A_TARGET = re.compile(r"[\x00-\x20\x7f]")
_PRECONDITIONS = frozenset(("if-match", "if-unmodified-since"))
_NAMES_REMEMBERED = 32
"""The most fields in a request for which the result is cached by their names: clients send few such sets of names."""


def bypass_reason(request: Request) -> Bypass | None:
    """Return why a request bypasses the cache, or None if it may be answered from the store."""
    if request.method not in ("GET", "HEAD"):
        return Bypass.METHOD
    if request.has_body:
        return Bypass.BODY
    names = request.fields.names()
    return _remembered_reason(names) if len(names) <= _NAMES_REMEMBERED else _reason_in(names)


def _reason_in(names: frozenset[str]) -> Bypass | None:
    # To an origin that uses CGI, X_Original_URL is the same as X-Original-URL.
    names = frozenset(name.replace("_", "-") for name in names)
    if not _UNKEYED.isdisjoint(names) or any(name.startswith(_UNKEYED_BEGINNINGS) for name in names):
        return Bypass.UNKEYED
    if "upgrade" in names:
        return Bypass.UPGRADE
    if "available-dictionary" in names:
        return Bypass.DICTIONARY
    return None if _PRECONDITIONS.isdisjoint(names) else Bypass.PRECONDITION


_remembered_reason = lru_cache(maxsize=128)(_reason_in)


def is_unusual(fields: Fields) -> bool:
    """Whether an error response to a request with these fields may be caused by them rather than by its target.

    They are larger than some servers accept, or some occur more than once. A cache that stored such an error would
    serve it to clients whose requests are valid.
    """
    size_bytes = sum(len(name) + len(value) + 4 for name, value in fields.raw)
    return size_bytes > USUAL_BYTES or len(fields.raw) > len(fields.names())


def is_malformed(request: Request) -> bool:
    """Whether a field's value has a control character (RFC 9110 5.5), or the target one or a space (RFC 9112 3.2).

    The next server might parse it as two fields, another target or two requests. HTTP/2 permits such characters.
    """
    return _NOT_IN_A_TARGET.search(request.target.path) is not None or any(
        _CONTROL.search(value) for _, value in request.fields.raw
    )
