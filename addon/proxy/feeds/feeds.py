"""Detects and parses feeds. Decoding and parsing run in a thread, as they may take a second."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from bestbefore.addon.feeds.coding import decoded, start_of
from bestbefore.addon.feeds.delta import reduced
from bestbefore.addon.feeds.document import Document, Item
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES, START_BYTES, extract, looks_like_feed
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.store.backend.unlinked import UnlinkedFile, whole

logger = logging.getLogger(__name__)

MAX_CONCURRENT = 2
"""How many feeds are parsed at the same time. Of those larger than `LARGE_BYTES` only one is: a malicious document
takes seconds and some hundred MB of memory."""
LARGE_BYTES = 256 * 1024

_NOT_FEEDS = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript",
          "application/pdf", "application/zip", "application/wasm")  # fmt: skip
_MAX_START_BYTES = 16 * START_BYTES
_JSON_FEED = "application/feed+json"
_FEEDS = ("xml", "rss", "atom", "rdf")


def media_type(head: Head) -> str:
    """Return the media type without its parameters, in lower case; empty if there is none."""
    return (head.fields.first("content-type") or "").partition(";")[0].strip(" \t").lower()


def may_be_feed(head: Head) -> bool:
    """Whether a response with this head may be a feed. Feeds are also sent with other types, such as HTML."""
    return head.status == 200 and not media_type(head).startswith(_NOT_FEEDS)


def is_sent_as_feed(head: Head) -> bool:
    """Whether the media type, if there is one, is that of a feed, of XML or of plain text."""
    sent_as = media_type(head)
    return may_be_feed(head) and (sent_as in ("", "text/plain", _JSON_FEED) or any(map(sent_as.__contains__, _FEEDS)))


def begins_feed(head: Head, start: bytes) -> bool | None:
    """Whether content may be a feed, by its start in its content coding; None if the start is too short to decide."""
    if not may_be_feed(head):
        return False
    text = start_of(start[:_MAX_START_BYTES], head.fields.get("content-encoding") or "", START_BYTES)
    # Some feeds have the members of the JSON object in alphabetical order, with `version` after all items.
    if media_type(head) == _JSON_FEED and text.lstrip().startswith(b"{"):
        return True
    return looks_like_feed(text)


class FeedReader:
    """Parses feeds, a few at a time."""

    def __init__(self) -> None:
        self._reading, self._reading_large = asyncio.Semaphore(MAX_CONCURRENT), asyncio.Semaphore(1)

    async def read(self, head: Head, content: bytes | UnlinkedFile) -> Document | None:
        """Parse complete content, in its content coding, as a feed; None if it is not one."""
        start = content if isinstance(content, bytes) else content.read(0, _MAX_START_BYTES)
        if begins_feed(head, start) is not True:
            return None
        return await self._read(head, content, extract)

    async def without_items(self, head: Head, content: bytes, is_seen: Callable[[Item], bool]) -> bytes | None:
        """Return the decoded feed without the items that were seen; None if the items cannot be located."""
        return await self._read(head, content, partial(reduced, is_seen=is_seen))

    async def _read[T](self, head: Head, content: bytes | UnlinkedFile, parse: Callable[[bytes], T | None]) -> T | None:
        """Decode and parse in a thread; None after an unexpected exception: the client still gets the content."""
        coding = head.fields.get("content-encoding") or ""
        async with self._reading_large if len(content) > LARGE_BYTES else self._reading:
            try:
                return await asyncio.to_thread(_parsed, content, coding, parse)
            except Exception:
                logger.exception("a feed could not be read: this is a bug in bestbefore")
                return None


def _parsed[T](content: bytes | UnlinkedFile, content_encoding: str, parse: Callable[[bytes], T | None]) -> T | None:
    text = decoded(whole(content), content_encoding, DOCUMENT_BYTES)
    return None if text is None else parse(text)
