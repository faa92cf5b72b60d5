"""Requests that go past the cache: never answered from the store."""

import re
from enum import StrEnum

from bestbefore.addon.rfc9111.message import Fields, Request


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
    "front-end-https",
    "x-host",
    "x-http-method",
    "x-http-host-override",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
))
USUAL_BYTES = 4096
"""Of all fields of a request; servers take from 8 KiB (Apache, nginx) to 64 KiB."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_A_TARGET = re.compile(r"[\x00-\x20\x7f]")
_PRECONDITIONS = frozenset(("if-match", "if-unmodified-since"))


def bypass_reason(request: Request) -> Bypass | None:
    """Why a request goes past the cache, or None if it may be answered from the store."""
    if request.method not in ("GET", "HEAD"):
        return Bypass.METHOD
    if request.has_body:
        return Bypass.BODY
    # To an origin that hands its fields on as CGI does, X_Original_URL is the same as X-Original-URL.
    names = {name.replace("_", "-") for name in request.fields.names()}
    if not _UNKEYED.isdisjoint(names) or any(name.startswith("x-forwarded") for name in names):
        return Bypass.UNKEYED
    if "upgrade" in names:
        return Bypass.UPGRADE
    return None if _PRECONDITIONS.isdisjoint(names) else Bypass.PRECONDITION


def is_unusual(fields: Fields) -> bool:
    """Whether an error in answer to a request with these fields may be about them rather than about its target.

    They are larger than every server takes, or some occur more than once. A cache that kept such an error would show it
    to those whose requests nothing is wrong with.
    """
    size_bytes = sum(len(name) + len(value) + 4 for name, value in fields.raw)
    return size_bytes > USUAL_BYTES or len(fields.raw) > len(fields.names())


def is_malformed(request: Request) -> bool:
    """Whether a field's value holds a control character (RFC 9110 5.5), or the target one or a space (RFC 9112 3.2).

    The next server might see two fields, another target or two requests in it. HTTP/2 can carry all that.
    """
    return _NOT_IN_A_TARGET.search(request.target.path) is not None or any(
        _CONTROL.search(value) for _, value in request.fields.raw
    )
