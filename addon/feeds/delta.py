"""Removes items that a feed reader has seen from a feed, by their byte positions: the rest remains as it was sent."""

from collections.abc import Callable
from typing import NamedTuple
from xml.parsers import expat

from bestbefore.addon.feeds.document import Item
from bestbefore.addon.feeds.extract import extract


class ItemSpan(NamedTuple):
    """The position of an item in a document."""

    start: int
    end: int


class _AmbiguousError(Exception):
    """The positions of the items cannot be determined with certainty."""


def reduced(body: bytes, is_seen: Callable[[Item], bool]) -> bytes | None:
    """Return the document without the items that were seen.

    None if it is not RSS or Atom, or if the positions of items are uncertain: it is not well-formed, has a document
    type, or lists an item twice.
    """
    document = extract(body)
    if document is None or document.kind not in ("rss", "atom"):
        return None
    spans = item_spans(body, document.kind)
    if spans is None or len(spans) != len(document.items):
        return None
    pieces, at = [], 0
    for span, item in zip(spans, document.items, strict=True):
        if is_seen(item):
            pieces.append(body[at : span.start])
            at = span.end
            while body[at : at + 1] in (b" ", b"\t", b"\r", b"\n"):
                at += 1
    return b"".join((*pieces, body[at:]))


def item_spans(body: bytes, kind: str) -> list[ItemSpan] | None:
    """Return the positions of the items that `xml_feed` finds, in the order of the document."""
    finder = _Finder(body, kind)
    try:
        finder.parser.Parse(body, True)  # noqa: FBT003 - expat takes no names
    except (expat.ExpatError, _AmbiguousError, LookupError, ValueError):
        return None
    return finder.spans


class _Finder:
    """Finds the positions of the items while expat parses a document."""

    def __init__(self, body: bytes, kind: str) -> None:
        self.spans: list[ItemSpan] = []
        self._body = body
        self._holders = ("rss", "channel") if kind == "rss" else ("feed",)
        self._name = "item" if kind == "rss" else "entry"
        self._path: list[str] = []
        self._start = -1
        self._holder: list[str] | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._on_start
        self.parser.EndElementHandler = self._on_end
        self.parser.StartDoctypeDeclHandler = self._on_doctype

    def _on_doctype(self, *_: object) -> None:
        raise _AmbiguousError

    def _on_start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        depth = len(self._path)
        if local == self._name and 0 < depth <= 2 and self._path[-1] in self._holders:
            if self._holder not in (None, self._path):  # items in several places
                raise _AmbiguousError
            self._holder, self._start = list(self._path), self.parser.CurrentByteIndex
        self._path.append(local)

    def _on_end(self, name: str) -> None:
        self._path.pop()
        if self._start < 0 or self._path != self._holder:
            return
        at = self.parser.CurrentByteIndex
        # For an empty-element tag the parser's position is after it, for example at the end tag of its parent.
        if not self._body.startswith(f"</{name}".encode(), at):
            raise _AmbiguousError
        self.spans.append(ItemSpan(self._start, self._body.index(b">", at) + 1))
        self._start = -1
