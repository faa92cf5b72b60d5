"""Parses sitemaps and sitemap indexes (sitemaps.org 0.9): the pages that a site lists, and when each changed last.

They are parsed as a stream, so that memory is bounded by what is kept of the entries; a document type ends the parsing.
"""

import math
import re
from typing import NamedTuple
from xml.parsers import expat

from bestbefore.addon.feeds.characters import as_utf8, may_begin_markup
from bestbefore.addon.feeds.times import parse_time

MAX_BYTES = 50 << 20
"""The largest sitemap, decoded (sitemaps.org)."""
MAX_ENTRIES = 50_000
"""The most entries of a sitemap (sitemaps.org); the others are ignored."""
MAX_SITEMAPS = 1000
"""The most sitemaps of an index that are followed."""
_LONGEST_URL = 2048
_CHUNK_BYTES = 1 << 20
_DAY_S = 86_400.0
_EAST_S, _WEST_S = 14 * 3600.0, 12 * 3600.0
"""The time zones farthest from Greenwich: a date without a time is a day in one of these or between them."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?(urlset|sitemapindex)[\s>]")


class ListedPage(NamedTuple):
    """A page that a sitemap lists, or a sitemap that an index lists."""

    url: str
    after_s: float
    by_s: float
    """It changed last in (after_s, by_s]; both are equal if the time is known."""


class Sitemap(NamedTuple):
    """What a sitemap or an index of sitemaps lists."""

    entries: tuple[ListedPage, ...]
    """Those with a time, at most `MAX_ENTRIES`."""
    sitemaps: tuple[str, ...] = ()
    """The sitemaps that an index lists, at most `MAX_SITEMAPS`: those with a time first, the latest before others."""


class _IsNoSitemapError(Exception):
    """The document has a document type, or another root."""


def looks_like_sitemap(start: bytes) -> bool:
    """Whether a document with this start may be a sitemap or an index of sitemaps."""
    return may_begin_markup(start) and _ROOT.search(as_utf8(start)[:4096]) is not None


def read_sitemap(body: bytes) -> Sitemap | None:
    """Return what a sitemap lists; None if the document is none.

    Of one that is not well-formed, the entries before the error.
    """
    if len(body) > MAX_BYTES or not looks_like_sitemap(body[:4096]):
        return None
    finder = _Finder()
    try:
        for at in range(0, len(body), _CHUNK_BYTES):
            finder.parser.Parse(body[at : at + _CHUNK_BYTES], at + _CHUNK_BYTES >= len(body))
            if finder.n >= MAX_ENTRIES:
                break
    except _IsNoSitemapError:
        return None
    except (expat.ExpatError, LookupError, ValueError):
        pass
    by_s = {entry.url: entry.by_s for entry in finder.entries}
    latest = sorted(finder.sitemaps, key=lambda url: -by_s.get(url, -math.inf))
    return Sitemap(tuple(finder.entries), tuple(latest))


class _Finder:
    """Finds the entries while expat parses a document."""

    def __init__(self) -> None:
        self.entries: list[ListedPage] = []
        self.sitemaps: list[str] = []
        self.n = 0
        self._path: list[str] = []
        self._texts: dict[str, str] = {}
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._on_start
        self.parser.EndElementHandler = self._on_end
        self.parser.CharacterDataHandler = self._on_text
        self.parser.StartDoctypeDeclHandler = self._on_doctype

    def _on_doctype(self, *_: object) -> None:
        raise _IsNoSitemapError

    def _on_start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        if not self._path and local not in ("urlset", "sitemapindex"):
            raise _IsNoSitemapError
        self._path.append(local)
        if len(self._path) == 2:
            self._texts = {}

    def _on_text(self, text: str) -> None:
        if len(self._path) == 3 and self._path[2] in ("loc", "lastmod"):
            known = self._texts.get(self._path[2], "")
            if len(known) <= _LONGEST_URL:
                self._texts[self._path[2]] = known + text

    def _on_end(self, _: str) -> None:
        if len(self._path) == 2 and self._path[1] in ("url", "sitemap") and self.n < MAX_ENTRIES:
            self.n += 1
            url = self._texts.get("loc", "").strip()
            changed = _when(self._texts.get("lastmod", "").strip())
            is_usable = 0 < len(url) <= _LONGEST_URL
            if is_usable and self._path[1] == "sitemap" and len(self.sitemaps) < MAX_SITEMAPS:
                self.sitemaps.append(url)
            if is_usable and changed is not None:
                self.entries.append(ListedPage(url, *changed))
        self._path.pop()


def _when(lastmod: str) -> tuple[float, float] | None:
    """Return the interval of a lastmod; a date without a time is a whole day, in any time zone."""
    time_s = parse_time(lastmod)
    if time_s is None:
        return None
    if _DATE.fullmatch(lastmod):
        return time_s - _EAST_S, time_s + _DAY_S + _WEST_S
    return time_s, time_s
