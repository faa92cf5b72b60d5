"""Feed deltas: only the new items, for clients that request them by the instance manipulation `feed` (RFC 3229).

A client sends `A-IM: feed` and, in If-None-Match, the entity tag of the document that it has. It gets a 226 with the
current document, without the items that the document with that tag listed and that are unchanged since.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bestbefore.addon.engine.listing import Feed
from bestbefore.addon.feeds.document import Item, digest
from bestbefore.addon.rfc9111.fields.directives import of_response
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag, etag_field, parse_entity_tags
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request

MANIPULATION = "feed"
A_IM = "a-im"
_OF_THE_WHOLE = frozenset((
    "accept-ranges", "cache-control", "content-digest", "content-encoding", "content-length", "content-md5",
    "repr-digest", "vary",
))  # fmt: skip


class Base(NamedTuple):
    """The document that the client has."""

    tag: EntityTag
    serial: int
    """The serial number of its list of items."""


def is_asked_for(request: Request) -> bool:
    """Whether the client accepts a delta and names the document that it has."""
    return request.method == "GET" and "if-none-match" in request.fields and _takes_feed(request.fields)


def _takes_feed(fields: Fields) -> bool:
    for member in list_members(fields.get(A_IM) or ""):
        name, _, weight = member.partition(";")
        if name.strip(" \t").lower() == MANIPULATION:
            return weight.replace(" ", "").rstrip("0").rstrip(".") not in ("q=", "q=0")
    return False


def may_replace(head: Head) -> bool:
    """Whether a delta may replace a response with this head: a 200 with an entity tag, without no-transform."""
    return head.status == 200 and etag_field(head.fields) is not None and not of_response(head.fields).no_transform


def base_of(request: Request, feed: Feed) -> Base | None:
    """Return the latest document among those that the client names; None if all are unknown."""
    bases = (
        Base(tag, serial)
        for tag in parse_entity_tags(request.fields.get("if-none-match") or "")
        if (serial := feed.seen_under(tag.opaque)) is not None
    )
    return max(bases, key=lambda base: base.serial, default=None)


def has_seen(item: Item, feed: Feed, base: Base) -> bool:
    """Whether the base document lists the item in its current version."""
    known = feed.items.get(digest(item.name))
    return known is not None and known.content == item.content and known.serial <= base.serial


def head_of(head: Head, base: Base, size: int, coding: str) -> Head:
    """Return the head of a 226 that replaces a 200 with this head.

    `no-store, im` prevents caches that do not know instance manipulations from storing it (RFC 3229 10.6, 10.8.2). The
    directives of the 200 follow, since feed readers obey its max-age.
    """
    directives = [member for member in list_members(head.fields.get("cache-control") or "") if member != "no-store"]
    lines = [
        ("IM", MANIPULATION),
        ("Delta-Base", str(base.tag)),
        ("Cache-Control", ", ".join(["no-store", "im", *directives])),
        ("Vary", _vary(head.fields.values("vary"))),
        ("Content-Length", str(size)),
    ]
    if coding:
        lines.append(("Content-Encoding", coding))
    return Head(226, head.fields.without(_OF_THE_WHOLE).added(*lines), "IM Used")


def _vary(lines: Sequence[str]) -> str:
    """Return the value of Vary: the fields of the 200, and those that select the delta."""
    names = [name for line in lines for name in list_members(line)]
    if "*" in names:
        return "*"
    listed = {name.lower() for name in names}
    added = (name for name in ("A-IM", "If-None-Match", "Accept-Encoding") if name.lower() not in listed)
    return ", ".join([*names, *added])
