"""Entity tags and how they compare (RFC 9110 8.8.3)."""

import re
from typing import NamedTuple

from bestbefore.addon.rfc9111.message import Fields

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_ONE = re.compile(_TAG)
# Entity tags may hold commas, so the list has a pattern of its own (RFC 9110 5.6.1: empty members are allowed).
_LIST = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*(?:{_TAG})?+)*+[ \t]*")


class EntityTag(NamedTuple):
    """A validator chosen by the origin."""

    opaque: str
    """With its quotes."""
    weak: bool = False

    def __str__(self) -> str:
        return f"W/{self.opaque}" if self.weak else self.opaque

    def strongly_equals(self, other: "EntityTag") -> bool:
        """Strong comparison: the same content, byte for byte (RFC 9110 8.8.3.2)."""
        return not self.weak and not other.weak and self.opaque == other.opaque

    def weakly_equals(self, other: "EntityTag") -> bool:
        """Weak comparison: equivalent content (RFC 9110 8.8.3.2)."""
        return self.opaque == other.opaque


def parse_entity_tag(text: str) -> EntityTag | None:
    """Parse an entity tag; None if malformed: without quotes, with `w/` in lower case, or with spaces in it."""
    match = _ONE.fullmatch(text.strip(" \t"))
    return None if match is None else _entity_tag(match[0])


def etag_field(fields: Fields) -> EntityTag | None:
    """Return the ETag of a response; None without a valid one, or with several different lines."""
    lines = fields.values("etag")
    return parse_entity_tag(lines[0]) if len(lines) == 1 else None


def parse_entity_tags(value: str) -> tuple[EntityTag, ...]:
    """Parse the list in If-None-Match or If-Match; empty if any member is malformed."""
    if _LIST.fullmatch(value) is None:
        return ()
    return tuple(_entity_tag(tag) for tag in _ONE.findall(value))


def _entity_tag(text: str) -> EntityTag:
    return EntityTag(text[2:], weak=True) if text.startswith("W/") else EntityTag(text)
