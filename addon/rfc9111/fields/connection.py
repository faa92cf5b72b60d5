"""Fields that are for one connection only, and the Via of each hop (RFC 9110 7.6)."""

import re

from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields

LOOP_FIELD = "Bestbefore-Via"
"""Stands in for Via in requests where the operator wants none: some servers answer those that bear it uncompressed."""

HOP_BY_HOP = frozenset((
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    # Trailers are not passed on, so none are announced.
    "trailer",
    "transfer-encoding",
    "upgrade",
    # Between a client and its proxy, or a proxy and its parent; never beyond (RFC 9110 11.7).
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
))

_FOR_ALL_RECIPIENTS = frozenset((LOOP_FIELD.lower(), "cache-control", "expect", "forwarded", "host", "via"))
_OF_A_REQUEST = _FOR_ALL_RECIPIENTS | {"authorization", "cookie", "proxy-authorization", "transfer-encoding"}
"""No Connection may name these in a request. Who obeyed it would take one request for two, send it elsewhere or lose
sight of a loop, or take the credentials off what they were to select."""
_OF_A_RESPONSE = _FOR_ALL_RECIPIENTS | {
    *("accept-ranges", "age", "authentication-info", "cdn-cache-control", "date", "etag", "expires", "last-modified"),
    *("location", "pragma", "proxy-authenticate", "proxy-authentication-info", "retry-after", "set-cookie"),
    *("surrogate-control", "vary", "warning", "www-authenticate"),
}
"""Nor these in a response. Transfer-Encoding is not among them: it is for one connection by definition, and servers
of a large CDN name it in each chunked response."""
_PROTECTED_BEGINNINGS = (":", "content-", "x-forwarded")
"""Pseudo-fields of HTTP/2, and all that frames or describes content."""
_WORD = re.compile(r"[a-z0-9:_-]+")
"""In what is no list of tokens, such as `close Content-Length`, each name counts."""
_USUAL_LINES = frozenset((
    *("keep-alive", "Keep-Alive", "close", "Close", "upgrade", "Upgrade", "TE", "te", "keep-alive, Upgrade"),
    *("TE, close", "close, TE"),
))
"""Values of Connection that name hop-by-hop fields alone, as most messages have them: known without parsing."""


def connection_options(fields: Fields) -> frozenset[str]:
    """The lower-case names that Connection lists (RFC 9110 7.6.1)."""
    return frozenset(name.lower() for line in fields.values("connection") for name in list_members(line))


def protected_in_request(fields: Fields) -> frozenset[str]:
    """The names that Connection lists in a request though they frame, address, route or authenticate it.

    Such a request means one thing with those fields and another without, so it is refused. A field that is meant for
    all recipients is never a connection option (RFC 9110 7.6.1). Any other name is one: its field is left out.
    """
    return _protected(fields, _OF_A_REQUEST)


def protected_in_response(fields: Fields) -> frozenset[str]:
    """The names that Connection lists in a response though they frame or describe it, or steer who may reuse it.

    Such a response is not stored, nor is its connection used again.
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
    """Return the fields less those that Connection names.

    Hop-by-hop fields stay, for the part that handles this connection.

    These very fields where none goes.
    """
    if not _names_more_than_hop_by_hop(fields):
        return fields
    named = connection_options(fields) - HOP_BY_HOP
    return fields if named.isdisjoint(fields.names()) else fields.without(named)


def end_to_end(fields: Fields) -> Fields:
    """Return the end-to-end fields, which are passed on and stored: all but those of this connection.

    These are the hop-by-hop fields and those that Connection names. Transfer-Encoding is left out too: the
    sender frames the message itself.
    """
    removed = HOP_BY_HOP | connection_options(fields) if "connection" in fields else HOP_BY_HOP
    return fields if removed.isdisjoint(fields.names()) else fields.without(removed)


def with_via(fields: Fields, version: str, pseudonym: str, name: str = "Via") -> Fields:
    """Return the fields with us added at the end of Via (RFC 9110 7.6.3).

    `version` is that of the message received, such as `1.1`.
    """
    return fields.added((name, f"{version} {pseudonym}"))


def hops(fields: Fields) -> tuple[tuple[str, str], ...]:
    """The lines that say which proxies a message has passed."""
    return tuple((name, value) for name, value in fields.raw if name.lower() in ("via", LOOP_FIELD.lower()))


def has_passed(fields: Fields, pseudonym: str) -> bool:
    """Whether the message has passed a proxy of this name before: then it goes in a loop (RFC 9110 7.6.3).

    A comment that reads like a hop of this name counts as one.
    """
    name = pseudonym.lower()
    lines = (*fields.values("via"), *fields.values(LOOP_FIELD))
    return any(hop.lower().split()[1:2] == [name] for line in lines for hop in line.split(","))
