"""Detects and parses sitemaps that pass through the proxy; in a thread, since one may list 50,000 pages."""

import asyncio
import logging

from bestbefore.addon.engine.signals.listed import ListedPages
from bestbefore.addon.feeds.coding import decoded, start_of
from bestbefore.addon.feeds.extract import START_BYTES
from bestbefore.addon.feeds.sitemap import MAX_BYTES, Sitemap, looks_like_sitemap, read_sitemap
from bestbefore.addon.proxy.feeds.feeds import begins_feed, media_type
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.store.backend.unlinked import UnlinkedFile, whole

logger = logging.getLogger(__name__)

_GZIP = b"\x1f\x8b"
_START_BYTES = 16 * START_BYTES


def begins_sitemap(head: Head, start: bytes) -> bool:
    """Whether content may be a sitemap, by its start in its content coding."""
    if head.status != 200 or media_type(head).startswith(("image/", "audio/", "video/", "font/", "text/css")):
        return False
    text = start_of(start[:_START_BYTES], head.fields.get("content-encoding") or "", START_BYTES)
    if text.startswith(_GZIP):  # a file such as sitemap.xml.gz
        text = start_of(text, "gzip", START_BYTES)
    return looks_like_sitemap(text)


def may_begin_listing(head: Head, start: bytes) -> bool:
    """Whether content may be a feed or a sitemap, which are read though they may not be stored."""
    return begins_feed(head, start) is not False or begins_sitemap(head, start)


async def read_listing(head: Head, content: bytes | UnlinkedFile) -> tuple[Sitemap, ListedPages] | None:
    """Parse complete content as a sitemap; None if it is not one."""
    start = content if isinstance(content, bytes) else content.read(0, _START_BYTES)
    if not begins_sitemap(head, start):
        return None
    try:
        return await asyncio.to_thread(_parsed, content, head.fields.get("content-encoding") or "")
    except Exception:
        logger.exception("a sitemap could not be read: this is a bug in bestbefore")
        return None


def _parsed(content: bytes | UnlinkedFile, coding: str) -> tuple[Sitemap, ListedPages] | None:
    text = decoded(whole(content), coding, MAX_BYTES)
    if text is not None and text.startswith(_GZIP):
        text = decoded(text, "gzip", MAX_BYTES)
    sitemap = None if text is None else read_sitemap(text)
    return None if sitemap is None else (sitemap, ListedPages.of(sitemap.entries))
