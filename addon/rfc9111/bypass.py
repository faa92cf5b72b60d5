"""Requests that go past the cache: never answered from the store."""

from enum import StrEnum

from bestbefore.addon.rfc9111.message import Request


class Bypass(StrEnum):
    """Why: log field, metric label and detail of Cache-Status."""

    METHOD = "method"
    """Neither GET nor HEAD."""
    BODY = "request-body"
    """GET or HEAD with a body, which the key does not hold."""
    UNKEYED = "unkeyed-field"
    """A field that origins let choose the response although no Vary names it."""
    UPGRADE = "upgrade"
    PRECONDITION = "precondition"
    """If-Match and If-Unmodified-Since are for the origin (RFC 9111 4.3.2)."""


_UNKEYED = frozenset((
    "forwarded",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
))
_PRECONDITIONS = frozenset(("if-match", "if-unmodified-since"))


def bypass_reason(request: Request) -> Bypass | None:
    """Why a request goes past the cache, or None if it may be answered from the store."""
    if request.method not in ("GET", "HEAD"):
        return Bypass.METHOD
    if request.has_body:
        return Bypass.BODY
    names = request.fields.names()
    if not _UNKEYED.isdisjoint(names) or any(name.startswith("x-forwarded-") for name in names):
        return Bypass.UNKEYED
    if "upgrade" in names:
        return Bypass.UPGRADE
    return None if _PRECONDITIONS.isdisjoint(names) else Bypass.PRECONDITION
