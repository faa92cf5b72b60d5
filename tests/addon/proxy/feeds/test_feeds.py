"""Which content is looked at, and that feeds are found in it."""

import gzip
from pathlib import Path

import pytest

from bestbefore.addon.proxy.feeds import feeds
from bestbefore.addon.proxy.feeds.feeds import FeedReader, begins_feed, is_sent_as_feed, may_be_feed
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

RSS = b"<rss><channel><item><guid>1</guid></item></channel></rss>"


def head(content_type: str = "", coding: str = "", status: int = 200) -> Head:
    lines = (("Content-Type", content_type), ("Content-Encoding", coding))
    return Head(status, Fields(line for line in lines if line[1]))


@pytest.mark.parametrize("content_type", ["", "text/html; charset=x", "application/octet-stream", "Text/Plain"])
def test_a_feed_may_have_any_type_of_text(content_type: str) -> None:
    assert begins_feed(head(content_type), RSS)


@pytest.mark.parametrize("content_type", ["image/svg+xml", "VIDEO/mp4", "text/css; charset=utf-8", "text/javascript"])
def test_what_is_surely_something_else_is_not_looked_at(content_type: str) -> None:
    assert not may_be_feed(head(content_type))
    assert not begins_feed(head(content_type), RSS)


def test_what_is_sent_as_a_page_is_not_awaited() -> None:
    for content_type in ("", "text/xml", "application/rss+xml; charset=x", "text/plain", "application/feed+json"):
        assert is_sent_as_feed(head(content_type))
    for content_type in ("text/html", "application/json", "application/octet-stream", "image/svg+xml"):
        assert not is_sent_as_feed(head(content_type))


def test_only_a_200_is_a_feed() -> None:
    assert not may_be_feed(head(status=404))


def test_a_json_feed_may_name_its_version_last_if_its_type_says_what_it_is() -> None:
    late = b'{"items": [' + b'"x",' * 4096 + b'1], "version": "https://jsonfeed.org/version/1"}'
    assert begins_feed(head("application/feed+json; charset=utf-8"), late)
    assert not begins_feed(head("application/json"), late)


async def test_a_feed_is_read_through_its_coding() -> None:
    document = await FeedReader().read(head(coding="gzip"), gzip.compress(RSS))
    assert document is not None
    assert [item.name for item in document.items] == ["1"]


async def test_a_feed_is_read_from_a_file(tmp_path: Path) -> None:
    file = UnlinkedFile(tmp_path)
    file.add(gzip.compress(RSS))
    document = await FeedReader().read(head(coding="gzip"), file)
    assert document is not None
    assert [item.name for item in document.items] == ["1"]


async def test_what_is_none_is_not_read() -> None:
    reader = FeedReader()
    assert await reader.read(head("text/html"), b"<!DOCTYPE html><html>" + RSS) is None
    assert await reader.read(head(coding="gzip"), RSS) is None
    assert await reader.read(head(coding="gzip"), gzip.compress(RSS)[:-9]) is None
    assert await reader.read(head(), b"") is None


async def test_a_fault_in_reading_keeps_nothing_from_the_client(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: bytes) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(feeds, "extract", fails)
    assert await FeedReader().read(head(), RSS) is None
    assert "this is a bug in bestbefore" in caplog.text
