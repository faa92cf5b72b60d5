"""Fields that are for one connection only, and the Via of each hop (RFC 9110 7.6)."""

from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.rfc9111.syntax import list_members

_HOP_BY_HOP = frozenset((
    "connection",
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


def connection_options(fields: Fields) -> frozenset[str]:
    """The lower-case names that Connection lists (RFC 9110 7.6.1)."""
    return frozenset(name.lower() for line in fields.values("connection") for name in list_members(line))


def end_to_end(fields: Fields) -> Fields:
    """What is passed on, in either direction, and stored: all fields but those of this connection.

    These are the hop-by-hop fields and those that Connection names. Left out is Transfer-Encoding too: whoever sends
    the message frames it anew.
    """
    removed = _HOP_BY_HOP | connection_options(fields) if "connection" in fields else _HOP_BY_HOP
    return fields if removed.isdisjoint(fields.names()) else fields.without(removed)


LOOP_FIELD = "Bestbefore-Via"
"""Stands in for Via in requests where the operator wants none: some servers answer those that bear it uncompressed."""


def with_via(fields: Fields, version: str, pseudonym: str, name: str = "Via") -> Fields:
    """With us added at the end of Via (RFC 9110 7.6.3); `version` is that of the message received, such as `1.1`."""
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
