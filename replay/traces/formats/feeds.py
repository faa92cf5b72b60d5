"""Stored feeds: RSS, RDF, Atom and JSON Feed documents, whose items are the updates of the feeds.

One document, or a folder with as many as there are, also below it: of several feeds, of one feed at several moments, or
archived ones (RFC 5005). An item that several documents list is one posting, at the earliest time that they give it.
Requests are not in feeds, nor are items that no document was stored in time to list.

With a list of feeds (OPML), the documents are looked for in the folder in which the list is, and count if their feed is
on it; objects are then called by the addresses on the list. Without one, a feed is called by the address that its
documents give, else by home page and title, else as the file.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bestbefore.addon.engine.listing import EARLIEST_S
from bestbefore.addon.feeds.document import READ_AT_MOST, Document, digest
from bestbefore.addon.feeds.extract import START_BYTES, Limits, extract, looks_like_feed
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.feed_identity import Identity, identity_of
from bestbefore.replay.traces.formats.opml import FeedFinder, address_key, listed_feeds, looks_like_opml
from bestbefore.replay.traces.opening import OpenTrace, opened
from bestbefore.replay.traces.skipped import Skipped, printable, shortened

GZIPPED = ".gz"
LIMITS = Limits(document_bytes=64 << 20, marks=5_000_000)
"""Wider than live, where the sender is not known: the archive of a feed may be one document with all it ever posted."""
MOST_READ_BYTES = LIMITS.document_bytes + 1
"""Of one document: enough to see that it is too large."""


def read_feed(source: OpenTrace, skipped: Skipped) -> Updates:
    """The postings of one stored document."""
    archive = _Archive(skipped)
    archive.add(Path(source.path.name), source.file.read(MOST_READ_BYTES))
    return archive.updates()


def read_feed_folder(folder: Path, skipped: Skipped) -> Updates:
    """The postings of all documents in a folder and below it. Other files are left out and counted."""
    archive = _Archive(skipped)
    archive.add_folder(folder)
    return archive.updates()


def read_listed_feeds(source: OpenTrace, skipped: Skipped) -> Updates:
    """The postings of the feeds on a list, from documents in its folder. Raises TraceError if it is no list."""
    archive = _Archive(skipped, FeedFinder(listed_feeds(source)))
    archive.add_folder(source.path.parent)
    return archive.updates()


def looks_like_stored_feed(head: bytes) -> bool:
    """Whether it begins as a feed does."""
    return looks_like_feed(head[:START_BYTES]) is True


@dataclass(slots=True)
class _Feed:
    """What was found of one feed."""

    name: str
    posted_s: dict[int, float] = field(default_factory=dict)
    """By the digests of the items' names."""
    undated: set[int] = field(default_factory=set)


class _Archive:
    """Postings as they are found, document by document."""

    def __init__(self, skipped: Skipped, finder: FeedFinder | None = None) -> None:
        self._skipped = skipped
        self._finder = finder
        self._feeds: dict[str, _Feed] = {}
        self._unlisted: list[Path] = []

    def add_folder(self, folder: Path) -> None:
        """Add all documents in a folder and below, in the order of their names; hidden ones are ignored."""
        for path in _files(folder, self._skipped):
            place = path.relative_to(folder)
            try:
                with opened(path) as source:
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
        """The feed that a document is of; None if there is a list that it is not on."""
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
        if len(document.items) == READ_AT_MOST:
            notes[f"documents of which only the first {READ_AT_MOST:,} items are read"] += 1
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
        """Return the updates that were found. What could not be used is noted."""
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
    """The files in a folder and below it that are not hidden, by name; no pipes and devices."""

    def unreadable(error: OSError) -> None:
        skipped.add(_text(Path(error.filename).relative_to(folder)), error.strerror or str(error))

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113 (which never raises)
                yield path


def _may_be_feed(head: bytes) -> bool:
    """Whether it is worth reading whole. In JSON, what it is may stand at the end."""
    return looks_like_feed(head[:START_BYTES]) is not False or head.lstrip().startswith(b"{")


def _text(place: Path) -> str:
    """The name of a file, whatever its bytes are."""
    return os.fsencode(place).decode(errors="backslashreplace")
