"""The reader of OPML, the lists of feeds that feed readers and aggregators exchange.

An `outline` with an `xmlUrl` is a feed, one without is a folder of the outlines in it. Postings are not in the list but
in the stored documents of the feeds.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree

from bestbefore.addon.feeds.characters import as_utf8
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.feed_identity import LONGEST_CHARACTERS, Identity
from bestbefore.replay.traces.opening import OpenTrace

_BEGINNING = re.compile(rb"(?:<\?.*?\?>|<!--.*?-->|<!(?!--)[^>]*>|\s+)*+<opml[\s>]", re.IGNORECASE | re.DOTALL)
_BEGINNING_BYTES = 4096
_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,31};)")
_SCHEMES = re.compile(r"(?:(?:feed|https?):(?://)?)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed on a list."""

    address: str
    title: str
    home: str
    """The address of the home page."""
    folder: str
    """The path of folders from the outermost, joined by `/`; empty for none."""


def looks_like_opml(head: bytes) -> bool:
    """Whether the first element is `opml`."""
    return _BEGINNING.match(as_utf8(head[:_BEGINNING_BYTES])) is not None


def listed_feeds(source: OpenTrace) -> tuple[ListedFeed, ...]:
    """Read the feeds of a list, each at its first place. Raises TraceError, also if there are none."""
    body = source.file.read(DOCUMENT_BYTES + 1)
    if len(body) > DOCUMENT_BYTES:
        raise TraceError(f"{source.path}: larger than {DOCUMENT_BYTES:,} bytes: expected a list of feeds (OPML)")
    parser = etree.XMLParser(encoding="utf-8", recover=True, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        # Unescaped & in addresses is frequent; the parser recovers from other errors.
        root = etree.fromstring(_BARE_AMPERSAND.sub(b"&amp;", as_utf8(body)), parser)
    except (etree.LxmlError, ValueError):
        root = None
    feeds: dict[str, ListedFeed] = {}
    if root is not None:
        for feed in _feeds(root, ()):
            feeds.setdefault(feed.address, feed)
    if not feeds:
        raise TraceError(f"{source.path}: no feed: expected OPML with an outline that has an xmlUrl")
    return tuple(feeds.values())


def _feeds(node: Any, folders: tuple[str, ...]) -> Iterator[ListedFeed]:
    """Yield the feeds in a node, recursively; the parser limits the depth to 256."""
    for child in node:
        if not isinstance(child.tag, str):
            continue
        attributes = {name.lower(): " ".join(value.split()) for name, value in child.attrib.items()}
        title = attributes.get("title") or attributes.get("text", "")
        address = attributes.get("xmlurl", "")
        if 0 < len(address) <= LONGEST_CHARACTERS:
            yield ListedFeed(_fetched(address), title, attributes.get("htmlurl", ""), "/".join(folders))
        yield from _feeds(child, (*folders, title) if title and child.tag.lower() == "outline" else folders)


def _fetched(address: str) -> str:
    """Return the HTTP address of one that may be written as `feed://` or `feed:https://`."""
    if not address.lower().startswith("feed:"):
        return address
    rest = address[len("feed:") :].removeprefix("//")
    return rest if rest.lower().startswith(("http://", "https://")) else f"http://{rest}"


def address_key(address: str) -> str:
    """Return a key of an address without scheme, fragment and final slash, with the host in lower case."""
    host, slash, path = _SCHEMES.sub("", address.strip(), count=1).partition("#")[0].rstrip("/").partition("/")
    return host.lower() + slash + path


class FeedFinder:
    """Finds the feed on a list to which a document belongs."""

    def __init__(self, feeds: Iterable[ListedFeed]) -> None:
        self.feeds = tuple(feeds)
        self._by_address: dict[str, int] = {}
        self._by_sign: dict[tuple[str, str], int | None] = {}
        for number, feed in enumerate(self.feeds):
            self._by_address.setdefault(address_key(feed.address), number)
            for sign in (("title", feed.title.casefold()), ("home", address_key(feed.home))):
                self._by_sign[sign] = None if sign in self._by_sign else number  # ambiguous if two feeds have it

    def find(self, identity: Identity, place: Path) -> int | None:
        """The index of the feed to which a document belongs; None if nothing identifies exactly one feed.

        Tried in this order: the address that the document declares; an address in the names of file and folders; the
        title as the name of the file or of the folder; and, if the document declares no address, its title and its home
        page. (A document with an address that is not on the list belongs to another feed, such as that of comments.)
        """
        stem = place.with_suffix("")
        for address in (*identity.addresses, *(unquote(str(name)) for name in (place, stem, place.parent))):
            if (number := self._by_address.get(address_key(address))) is not None:
                return number
        signs = [("title", name.casefold()) for name in (stem.name, place.parent.name)]
        if not identity.addresses:
            signs += [("title", identity.title.casefold()), ("home", address_key(identity.home))]
        for sign in signs:
            if sign[1] and (number := self._by_sign.get(sign)) is not None:
                return number
        return None
