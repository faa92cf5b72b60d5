"""Fields that apply to one connection only, and Via (RFC 9110 7.6)."""

import re

from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields

LOOP_FIELD = "Bestbefore-Via"
"""Replaces Via in requests if the operator wants none: some servers do not compress responses to requests with Via."""

HOP_BY_HOP = frozenset((
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    # Trailers are not forwarded, so none are announced.
    "trailer",
    "transfer-encoding",
    "upgrade",
    # Between a client and its proxy, or a proxy and its parent; never beyond (RFC 9110 11.7).
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
))

_OF_HOPS = frozenset(("via", LOOP_FIELD.lower()))
_FOR_ALL_RECIPIENTS = frozenset((LOOP_FIELD.lower(), "cache-control", "expect", "forwarded", "host", "via"))
_OF_A_REQUEST = _FOR_ALL_RECIPIENTS | {"authorization", "cookie", "proxy-authorization", "transfer-encoding"}
"""Fields that Connection must not name in a request. A proxy that obeyed it would frame or route the request otherwise,
miss a loop, or remove the credentials that select a response."""
_OF_A_RESPONSE = _FOR_ALL_RECIPIENTS | {
    *("accept-ranges", "age", "authentication-info", "cdn-cache-control", "date", "etag", "expires", "last-modified"),
    *("location", "pragma", "proxy-authenticate", "proxy-authentication-info", "retry-after", "set-cookie"),
    *("surrogate-control", "vary", "warning", "www-authenticate"),
}
"""Fields that Connection must not name in a response. Transfer-Encoding may be named: it applies to one connection by
definition, and servers of a large CDN name it in each chunked response."""
_PROTECTED_BEGINNINGS = (":", "content-", "x-forwarded")
"""Pseudo-header fields of HTTP/2, and fields that frame or describe content."""
_WORD = re.compile(r"[a-z0-9:_-]+")
"""A name. In a malformed list, such as `close Content-Length`, each name counts."""
_USUAL_LINES = frozenset((
    *("keep-alive", "Keep-Alive", "close", "Close", "upgrade", "Upgrade", "TE", "te", "keep-alive, Upgrade"),
    *("TE, close", "close, TE"),
))
"""Usual values of Connection, which name only hop-by-hop fields and need no parsing."""


def connection_options(fields: Fields) -> frozenset[str]:
    """Return the lower-case names that Connection lists (RFC 9110 7.6.1)."""
    return frozenset(name.lower() for line in fields.values("connection") for name in list_members(line))


def protected_in_request(fields: Fields) -> frozenset[str]:
    """Return the protected fields that Connection lists in a request: those that frame, route or authenticate it.

    Such a request means one thing with those fields and another without, so it is refused. A field that is meant for
    all recipients is never a connection option (RFC 9110 7.6.1). Any other name is one: its field is left out.
    """
    return _protected(fields, _OF_A_REQUEST)


def protected_in_response(fields: Fields) -> frozenset[str]:
    """Return the protected fields that Connection lists in a response: those for framing, description or reuse.

    Such a response is not stored, and its connection is not reused.
    """
    return _protected(fields, _OF_A_RESPONSE)


def _protected(fields: Fields, names: frozenset[str]) -> frozenset[str]:
    if not _names_more_than_hop_by_hop(fields):
        return frozenset()
    options = {name for line in fields.values("connection") for name in _WORD.findall(line.lower())}
    return frozenset(name for name in options if name in names or name.startswith(_PROTECTED_BEGINNINGS))


def _names_more_than_hop_by_hop(fields: Fields) -> bool:
    return "connection" in fields and not _USUAL_LINES.issuperset(fields.values("connection"))


def without_named(fields: Fields) -> Fields:
    """Return the fields without those that Connection names.

    Hop-by-hop fields are kept, for the handling of this connection.

    Returns the same object if nothing is removed.
    """
    if not _names_more_than_hop_by_hop(fields):
        return fields
    named = connection_options(fields) - HOP_BY_HOP
    return fields.without(named)


def end_to_end(fields: Fields) -> Fields:
    """Return the end-to-end fields, which are forwarded and stored.

    Removed are hop-by-hop fields, those that Connection names, and Transfer-Encoding, as the sender frames the message
    itself.
    """
    removed = HOP_BY_HOP | connection_options(fields) if "connection" in fields else HOP_BY_HOP
    return fields.without(removed)


def with_via(fields: Fields, version: str, pseudonym: str, name: str = "Via") -> Fields:
    """Return the fields with this proxy appended to Via (RFC 9110 7.6.3).

    `version` is that of the message received, such as `1.1`.
    """
    return fields.added((name, f"{version} {pseudonym}"))


def hops(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Return the lines that name the proxies which have forwarded a message."""
    return tuple((name, value) for name, value in fields.raw if name.lower() in _OF_HOPS)


def has_passed(fields: Fields, pseudonym: str) -> bool:
    """Whether a proxy of this name has forwarded the message before, so that it is in a loop (RFC 9110 7.6.3).

    A comment that looks like a hop of this name counts too.
    """
    if fields.names().isdisjoint(_OF_HOPS):
        return False
    name = pseudonym.lower()
    lines = (*fields.values("via"), *fields.values(LOOP_FIELD))
    return any(hop.lower().split()[1:2] == [name] for line in lines for hop in line.split(","))
