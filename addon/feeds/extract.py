"""From bytes to a feed, if they are one: by what they say, whatever the media type calls them.

Limits, so that work and memory are bounded whatever is sent: a document of more than `DOCUMENT_BYTES`, or of more
than `MARKS_AT_MOST` tags and attributes, is no feed to us. It is stored and served as any other object.
"""

import re

from bestbefore.addon.feeds import json_feed, xml_feed
from bestbefore.addon.feeds.characters import as_utf8
from bestbefore.addon.feeds.document import Document

DOCUMENT_BYTES = 8 << 20
"""The largest document that is read, once decoded."""
MARKS_AT_MOST = 1_000_000
"""Each tag, attribute, list and member takes some hundred bytes of memory once it is read."""
START_BYTES = 4096
"""So much of a document shows what it is, unless a long comment stands before it."""

_ROOTS = frozenset((b"rss", b"rdf", b"feed", b"channel"))
_NAME = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s/>]")


def looks_like_feed(start: bytes) -> bool:
    """Whether a document that starts so (`START_BYTES` or all of it) may be a feed."""
    text = as_utf8(start[:START_BYTES])
    if text[:1] == b"{":
        return b"jsonfeed.org/version" in text.replace(b"\\/", b"/")
    root = _root(text)
    return root is not None and root.lower() in _ROOTS


def extract(body: bytes) -> Document | None:
    """The feed that these bytes are, without content coding; None if they are none, or too large to be read."""
    if len(body) > DOCUMENT_BYTES:
        return None
    text = as_utf8(body)
    if text[:1] == b"{":
        readable = b"jsonfeed.org" in text and _marks(text, b"[", b"{", b",") <= MARKS_AT_MOST
        return json_feed.read(text) if readable else None
    root = _root(text[:START_BYTES]) or _root(text)
    if root is None or root.lower() not in _ROOTS or _marks(text, b"<", b'="', b"='") > MARKS_AT_MOST:
        return None
    return xml_feed.read(text)


def _marks(text: bytes, *marks: bytes) -> int:
    return sum(map(text.count, marks))


def _root(text: bytes) -> bytes | None:
    """The local name of the root element, past declaration, instructions, comments and document type."""
    at = 0
    while True:
        while text[at : at + 1] in (b" ", b"\t", b"\r", b"\n"):
            at += 1
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
            return None if found is None else found[1]
        if end < 0:
            return None
        at = end + length
