"""Sitemaps in their codings."""

import gzip

import pytest

from bestbefore.addon.feeds.sitemap import ListedPage
from bestbefore.addon.proxy.signals.sitemaps import begins_sitemap, may_begin_listing, read_listing
from bestbefore.addon.rfc9111.message import Fields, Head

BODY = b"<urlset><url><loc>http://x/a</loc><lastmod>1970-01-01T00:00:05Z</lastmod></url></urlset>"


def head(status: int = 200, **fields: str) -> Head:
    return Head(status, Fields([(name.replace("_", "-"), value) for name, value in fields.items()]))


@pytest.mark.parametrize(("fields", "body"), [
    ({"content_type": "application/xml"}, BODY),
    ({"content_type": "text/html", "content_encoding": "gzip"}, gzip.compress(BODY)),
    ({"content_type": "application/x-gzip"}, gzip.compress(BODY)),
    ({"content_type": "application/gzip", "content_encoding": "gzip"}, gzip.compress(gzip.compress(BODY))),
], ids=["plain", "coded", "file", "coded file"])  # fmt: skip
async def test_a_sitemap_is_read_as_sent_or_as_a_file(fields: dict[str, str], body: bytes) -> None:
    found = await read_listing(head(**fields), body)
    assert found is not None
    assert found[0].entries == (ListedPage("http://x/a", 5.0, 5.0),)
    assert found[1].by("http://x/a") == 5.0


def test_what_may_be_a_feed_or_a_sitemap_is_collected() -> None:
    for start in (BODY, b"<rss>", b"<?xml"):
        assert may_begin_listing(head(), start)
    assert not may_begin_listing(head(), b"<html><body>")
    assert not may_begin_listing(head(404), BODY)


async def test_anything_else_is_not() -> None:
    assert not begins_sitemap(head(404), BODY)
    assert not begins_sitemap(head(content_type="image/png"), BODY)
    assert await read_listing(head(), b"<rss></rss>") is None
    assert await read_listing(head(content_encoding="gzip"), b"\x1f\x8b broken") is None
