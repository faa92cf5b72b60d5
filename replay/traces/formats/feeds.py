"""The reader of stored feeds: RSS, RDF, Atom and JSON Feed documents, whose items are the updates of the feeds.

The input is one document, or a folder of documents with its subfolders: of several feeds, of one feed stored at several
times, or archived documents (RFC 5005). An item in several documents is one posting, at the earliest time given.

With a list of feeds (OPML), the documents are read from the folder of the list, and used if their feed is on the list;
objects are named by the addresses on the list. Without a list, a feed is named by the address that its documents
declare, else by home page and title, else by the file name.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bestbefore.addon.engine.listing import EARLIEST_S
from bestbefore.addon.feeds.document import MAX_PARSED_ITEMS, Document, digest
from bestbefore.addon.feeds.extract import START_BYTES, Limits, extract, looks_like_feed
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.feed_identity import Identity, identity_of
from bestbefore.replay.traces.formats.opml import FeedFinder, address_key, listed_feeds, looks_like_opml
from bestbefore.replay.traces.opening import OpenTrace, open_trace
from bestbefore.replay.traces.skipped import Skipped, printable, shortened

GZIPPED = ".gz"
LIMITS = Limits(document_bytes=64 << 20, marks=5_000_000)
"""Larger than in the proxy, where documents are not trusted: an archive may be one document with all postings."""
MOST_READ_BYTES = LIMITS.document_bytes + 1
"""The bytes read of a document, one more than allowed."""


def read_feed(source: OpenTrace, skipped: Skipped) -> Updates:
    """Read the postings of one stored document."""
    archive = _Archive(skipped)
    archive.add(Path(source.path.name), source.file.read(MOST_READ_BYTES))
    return archive.updates()


def read_feed_folder(folder: Path, skipped: Skipped) -> Updates:
    """Read the postings of all documents in a folder and its subfolders. Other files are left out and counted."""
    archive = _Archive(skipped)
    archive.add_folder(folder)
    return archive.updates()


def read_listed_feeds(source: OpenTrace, skipped: Skipped) -> Updates:
    """Read the postings of the feeds on a list from documents in its folder. Raises TraceError if it is no list."""
    archive = _Archive(skipped, FeedFinder(listed_feeds(source)))
    archive.add_folder(source.path.parent)
    return archive.updates()


def looks_like_stored_feed(head: bytes) -> bool:
    """Whether the content begins like a feed."""
    return looks_like_feed(head[:START_BYTES]) is True


@dataclass(slots=True)
class _Feed:
    """A feed with the postings found so far."""

    name: str
    posted_s: dict[int, float] = field(default_factory=dict)
    """The time of each posting, by the digest of the item's name."""
    undated: set[int] = field(default_factory=set)
    """The digests of items without a usable time."""


class _Archive:
    """The feeds of an archive, collected document by document."""

    def __init__(self, skipped: Skipped, finder: FeedFinder | None = None) -> None:
        self._skipped = skipped
        self._finder = finder
        self._feeds: dict[str, _Feed] = {}
        self._unlisted: list[Path] = []

    def add_folder(self, folder: Path) -> None:
        """Add all documents of a folder and its subfolders, in the order of names; hidden files are ignored."""
        for path in _files(folder, self._skipped):
            place = path.relative_to(folder)
            try:
                with open_trace(path) as source:
                    head = source.head()
                    if _may_be_feed(head):
                        self.add(place, source.file.read(MOST_READ_BYTES))
                    elif not looks_like_opml(head):
                        self._leave_out()
            except TraceError as error:
                self._skipped.add(_text(place), str(error).removeprefix(f"{path}: "))

    def add(self, place: Path, body: bytes) -> None:
        """Add a document; `place` is its path in the archive."""
        document = extract(body, LIMITS)
        if document is None and looks_like_feed(body[:START_BYTES]) is False:
            self._leave_out()
            return
        if document is None:
            most = f", of at most {LIMITS.document_bytes:,} bytes and {LIMITS.marks:,} tags and attributes"
            large = most if len(body) > LIMITS.marks else ""  # else it can be neither
            self._skipped.add(_text(place), f"expected RSS, RDF, Atom or JSON Feed{large}")
            return
        if place.suffix == GZIPPED:
            place = place.with_suffix("")
        feed = self._feed_of(identity_of(body), place)
        if feed is None:
            self._unlisted.append(place)
        else:
            self._add_items(feed, document)

    def _leave_out(self) -> None:
        self._skipped.notes["files left out, no feeds"] += 1

    def _feed_of(self, identity: Identity, place: Path) -> _Feed | None:
        """The feed of a document; None if there is a list without it."""
        if self._finder is not None:
            number = self._finder.find(identity, place)
            if number is None:
                return None
            name = self._finder.feeds[number].address
        else:
            called = f"{identity.home} {identity.title}".strip()
            name = next(iter(identity.addresses), "") or called or _text(place.with_suffix(""))
        return self._feeds.setdefault(address_key(name), _Feed(name))

    def _add_items(self, feed: _Feed, document: Document) -> None:
        notes = self._skipped.notes
        if not document.items:
            notes["documents without items"] += 1
        if len(document.items) == MAX_PARSED_ITEMS:
            notes[f"documents of which only the first {MAX_PARSED_ITEMS:,} items are read"] += 1
        for item in document.items:
            name, time_s = digest(item.name), item.time_s
            known_s = feed.posted_s.get(name)
            if time_s is None or time_s < EARLIEST_S:
                feed.undated.add(name)
            elif known_s is None:
                feed.posted_s[name] = time_s
            elif time_s != known_s:
                notes["items repeated with another time, the earlier one taken"] += 1
                feed.posted_s[name] = min(time_s, known_s)
            else:
                notes["items repeated by another document"] += 1

    def updates(self) -> Updates:
        """Return the updates found; items and documents that were not used are noted in `skipped`."""
        self._note_undated()
        self._note_list()
        times_s, ids = array("d"), array("i")
        for number, feed in enumerate(self._feeds.values()):
            times_s.extend(feed.posted_s.values())
            ids.extend([number] * len(feed.posted_s))
        names = tuple(feed.name for feed in self._feeds.values())
        updates = Updates.of(np.array(times_s, dtype=np.float64), np.array(ids, dtype=np.int32), names)
        if together := len(times_s) - len(updates):
            self._skipped.notes["items posted together with another of their feed, one update"] += together
        return updates

    def _note_undated(self) -> None:
        for feed in self._feeds.values():
            if undated := len(feed.undated.difference(feed.posted_s)):
                whole = undated + len(feed.posted_s)
                why = f"{undated:,} of {whole:,} items bear no time since 1995"
                self._skipped.add(shortened(feed.name), why, undated)

    def _note_list(self) -> None:
        if self._finder is None:
            return
        if self._unlisted:
            remark = f"documents left out, of no feed on the list, such as {printable(_text(self._unlisted[0]))}"
            self._skipped.notes[remark] += len(self._unlisted)
        missing = [feed.address for feed in self._finder.feeds if address_key(feed.address) not in self._feeds]
        if missing:
            remark = f"feeds on the list of which no document was found, such as {printable(shortened(missing[0]))}"
            self._skipped.notes[remark] += len(missing)


def _files(folder: Path, skipped: Skipped) -> Iterator[Path]:
    """Yield the regular files of a folder and its subfolders that are not hidden, ordered by name."""

    def unreadable(error: OSError) -> None:
        skipped.add(_text(Path(error.filename).relative_to(folder)), error.strerror or str(error))

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113 (which never raises)
                yield path


def _may_be_feed(head: bytes) -> bool:
    """Whether the whole file must be read to decide; a JSON Feed may be recognisable only at its end."""
    return looks_like_feed(head[:START_BYTES]) is not False or head.lstrip().startswith(b"{")


def _text(place: Path) -> str:
    """Return a file name as text, with invalid bytes escaped."""
    return os.fsencode(place).decode(errors="backslashreplace")
