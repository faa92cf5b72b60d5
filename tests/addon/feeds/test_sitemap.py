"""Sitemaps, sitemap indexes, and what is neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.feeds.sitemap import (
    MAX_ENTRIES,
    MAX_SITEMAPS,
    ListedPage,
    Sitemap,
    looks_like_sitemap,
    read_sitemap,
)

DAY_S = 86_400.0
NOON_S = 1_795_435_200.0
"""2026-11-23T12:00:00Z."""
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def sitemap(*entries: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>{"".join(entries)}</urlset>'.encode()


def page(url: str, lastmod: str = "2026-11-23T12:00:00Z") -> str:
    return f"<url>\n <loc> {url} </loc><lastmod>{lastmod}</lastmod><priority>0.5</priority></url>"


def entries(body: bytes) -> tuple[ListedPage, ...]:
    found = read_sitemap(body)
    assert found is not None
    return found.entries


def test_entries_have_the_time_of_their_last_change() -> None:
    body = sitemap(page("http://x/a?b=1&amp;c=2"), page("http://x/b", "2026-11-23T13:00:00.5+01:00"))
    noon = NOON_S, NOON_S
    assert entries(body) == (ListedPage("http://x/a?b=1&c=2", *noon), ListedPage("http://x/b", *noon))


def test_a_date_is_a_day_in_some_time_zone() -> None:
    assert entries(sitemap(page("http://x/a", "2026-11-23"))) == (
        ListedPage("http://x/a", NOON_S - DAY_S / 2 - 14 * 3600, NOON_S + DAY_S / 2 + 12 * 3600),
    )


def test_an_index_lists_sitemaps() -> None:
    body = b"<sm:sitemapindex xmlns:sm='x'><sm:sitemap><sm:loc>http://x/1.xml.gz</sm:loc><sm:lastmod>2026-11-23T12:00:00Z"
    body += b"</sm:lastmod></sm:sitemap></sm:sitemapindex>"
    assert read_sitemap(body) == Sitemap((ListedPage("http://x/1.xml.gz", NOON_S, NOON_S),), ("http://x/1.xml.gz",))


def test_the_sitemaps_of_an_index_that_changed_last_come_first_and_those_without_a_time_last() -> None:
    listed = "".join(
        f"<sitemap><loc>{n}</loc>{f'<lastmod>2026-11-{n}</lastmod>' if n > 9 else ''}</sitemap>" for n in (1, 20, 2, 22)
    )
    found = read_sitemap(f"<sitemapindex>{listed}</sitemapindex>".encode())
    assert found is not None
    assert found.sitemaps == ("22", "20", "1", "2")
    many = "".join(f"<sitemap><loc>{n}</loc></sitemap>" for n in range(MAX_SITEMAPS + 1))
    found = read_sitemap(f"<sitemapindex>{many}</sitemapindex>".encode())
    assert found is not None
    assert len(found.sitemaps) == MAX_SITEMAPS


@pytest.mark.parametrize("entry", [
    "<url><loc>http://x/</loc></url>", page("http://x/", "yesterday"), page("", "2026-11-23"), page("x" * 3000),
    "<url><video><loc>http://x/</loc><lastmod>2026-11-23</lastmod></video></url>",
])  # fmt: skip
def test_what_says_nothing_of_a_page_is_left_out(entry: str) -> None:
    assert entries(sitemap(entry, page("http://x/b"))) == (ListedPage("http://x/b", NOON_S, NOON_S),)


def test_of_a_broken_sitemap_the_entries_before_the_error_count() -> None:
    assert entries(sitemap(page("http://x/a"), "<url><loc>&nbsp;")) == (ListedPage("http://x/a", NOON_S, NOON_S),)


@pytest.mark.parametrize("body", [
    b"", b"<rss/>", b"<html><urlset2>", b"<feed><urlset></urlset></feed>", b"urlset", b"\x00\xff<urlset",
    b'<!DOCTYPE urlset [<!ENTITY a "b">]><urlset><url><loc>http://x/&a;</loc></url></urlset>',
])  # fmt: skip
def test_anything_else_is_no_sitemap(body: bytes) -> None:
    assert read_sitemap(body) is None


def test_entries_beyond_the_limit_are_ignored() -> None:
    found = entries(sitemap(*(f"<url><loc>{n}</loc><lastmod>2026-11-23</lastmod></url>" for n in range(50_001))))
    assert len(found) == MAX_ENTRIES


@given(st.binary(max_size=200), st.sampled_from([b"", b"<urlset>", b"<urlset><url><loc>a</loc><lastmod>"]))
def test_no_content_raises(body: bytes, start: bytes) -> None:
    looks_like_sitemap(start + body)
    read_sitemap(start + body)
