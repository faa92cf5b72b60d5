"""Parses a feed from bytes; its format is detected by content, not by media type.

To bound work and memory, a document of more than `DOCUMENT_BYTES`, or of more than `MAX_MARKS` tags and attributes, is
not taken for a feed. It is stored and served as any other object. (A replay may set other limits.)
"""

import re
from dataclasses import dataclass

from bestbefore.addon.feeds import json_feed, xml_feed
from bestbefore.addon.feeds.characters import as_utf8, may_begin_markup
from bestbefore.addon.feeds.document import Document

DOCUMENT_BYTES = 8 << 20
"""The largest document that is parsed, after decoding."""
MAX_MARKS = 600_000
"""The most tags, attributes, lists and members: each takes some hundred bytes of memory when parsed."""
START_BYTES = 4096
"""The size of the start of a document that shows its format, unless it begins with a long comment."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on the size of a document."""

    document_bytes: int = DOCUMENT_BYTES
    marks: int = MAX_MARKS


_LIVE = Limits()

_ROOTS = frozenset((b"rss", b"rdf", b"feed", b"channel"))
_SPACE = re.compile(rb"[ \t\r\n]*")
_OPEN = re.compile(rb"(?:<[\w.:-]*)?")
_NAME = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s/>]")


def looks_like_feed(start: bytes) -> bool | None:
    """Whether a document with this start may be a feed; None: more of it is needed, up to `START_BYTES`."""
    if not may_begin_markup(start):
        return False
    text = as_utf8(start[:START_BYTES])
    if text[:1] == b"{":
        return b"jsonfeed.org/version" in text.replace(b"\\/", b"/")
    root = _root(text)
    if root == b"" and len(start) < START_BYTES:
        return None
    return root in _ROOTS


def extract(body: bytes, limits: Limits = _LIVE) -> Document | None:
    """Parse a feed from bytes without content coding; None if they are not a feed, or too large."""
    if len(body) > limits.document_bytes:
        return None
    text = as_utf8(body)
    if text[:1] == b"{":
        readable = b"jsonfeed.org" in text and _marks(text, b"[", b"{", b",") <= limits.marks
        return json_feed.read(text) if readable else None
    if _root(text) not in _ROOTS or _marks(text, b"<", b'="', b"='") > limits.marks:
        return None
    return xml_feed.read(text)


def _marks(text: bytes, *marks: bytes) -> int:
    return sum(map(text.count, marks))


def _root(text: bytes) -> bytes:
    """Return the lower-case local name of the root element, after declaration, instructions, comments and doctype.

    Empty if the text ends before it; `?` if it is not XML.
    """
    at = 0
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it always matches
        if text.startswith(b"<?", at):
            end, length = text.find(b"?>", at), 2
        elif text.startswith(b"<!--", at):
            end, length = text.find(b"-->", at + 4), 3
        elif text.startswith(b"<!", at):
            closing = text.find(b">", at)
            subset = text.find(b"[", at, closing)
            end, length = (closing, 1) if subset < 0 else (text.find(b"]>", at), 2)
        else:
            found = _NAME.match(text, at)
            if found is not None:
                return found[1].lower()
            return b"" if _OPEN.fullmatch(text, at) else b"?"
        if end < 0:
            return b""
        at = end + length
