"""Only the new items of a feed, for clients that ask so: instance manipulation `feed` (RFC 3229 and its use for feeds).

A client sends `A-IM: feed` and, in If-None-Match, the entity tag of the document that it has. It gets a 226 with the
present document less the items that it has seen: all that were listed, and unchanged since, under that tag.
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
    """Of the list of items in it."""


def is_asked_for(request: Request) -> bool:
    """Whether the client takes a delta and says what it has."""
    return request.method == "GET" and "if-none-match" in request.fields and _takes_feed(request.fields)


def _takes_feed(fields: Fields) -> bool:
    for member in list_members(fields.get(A_IM) or ""):
        name, _, weight = member.partition(";")
        if name.strip(" \t").lower() == MANIPULATION:
            return weight.replace(" ", "").rstrip("0").rstrip(".") not in ("q=", "q=0")
    return False


def may_replace(head: Head) -> bool:
    """Whether a delta may stand in for a response with this head: a 200 with an entity tag, without no-transform."""
    return head.status == 200 and etag_field(head.fields) is not None and not of_response(head.fields).no_transform


def base_of(request: Request, feed: Feed) -> Base | None:
    """The latest document of those that the client names; None if none is remembered."""
    bases = (
        Base(tag, serial)
        for tag in parse_entity_tags(request.fields.get("if-none-match") or "")
        if (serial := feed.seen_under(tag.opaque)) is not None
    )
    return max(bases, key=lambda base: base.serial, default=None)


def has_seen(item: Item, feed: Feed, base: Base) -> bool:
    """Whether who has the base has seen the item as it is now."""
    known = feed.items.get(digest(item.name))
    return known is not None and known.content == item.content and known.serial <= base.serial


def head_of(head: Head, base: Base, size: int, coding: str) -> Head:
    """The 226 in place of a 200 with this head.

    No cache that does not know of instance manipulations stores it: `no-store, im` (RFC 3229 10.6, 10.8.2). The
    directives of the 200 follow, since readers go by its max-age.
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
    """Return the value of Vary with what the delta was chosen by, besides what the 200 was chosen by."""
    names = [name for line in lines for name in list_members(line)]
    if "*" in names:
        return "*"
    listed = {name.lower() for name in names}
    added = (name for name in ("A-IM", "If-None-Match", "Accept-Encoding") if name.lower() not in listed)
    return ", ".join([*names, *added])
