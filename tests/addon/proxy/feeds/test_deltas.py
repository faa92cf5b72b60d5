"""Deltas as a reader of a feed gets them through the parts of a proxy."""

import gzip
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.feeds import deltas
from bestbefore.addon.rfc9111.message import Fields, Head
from tests.addon.proxy.feeds.polling import HOUR_S, START_S, Feed, ask, proxy


async def polled_twice(
    tmp_path: Path, *, config: str = "", base: str = '"1"', kept: int = 1, added: int = 1, **lines: str
) -> tuple[Answer, Answer, Answered]:
    """Two answers to a reader, the second with `added` new items, and the record of the second."""
    feed, records = Feed(ManualClock(START_S)), list[Answered]()
    feed.posted_s = [START_S - hour * HOUR_S for hour in range(1, kept + 1)]
    file = tmp_path / "proxy.toml"
    file.write_text(config)
    async with proxy(feed, records.append, file) as (exchanges, _):
        feed.lines = (("ETag", '"1"'),)
        first = await ask(exchanges, Cache_Control="no-cache")
        feed.clock.advance(HOUR_S)
        feed.posted_s += [START_S + 60.0 * number for number in range(added)]
        feed.posted_s.sort()
        feed.lines = (("ETag", '"2"'),)
        second = await ask(exchanges, Cache_Control="no-cache", If_None_Match=base, **lines)
    return first, second, records[-1]


async def test_a_reader_that_accepts_deltas_gets_the_new_items_alone(tmp_path: Path) -> None:
    _, whole, _ = await polled_twice(tmp_path, kept=15)
    _, delta, record = await polled_twice(tmp_path, kept=15, A_IM="feed")
    assert (whole.head.status, whole.body.count(b"<item>")) == (200, 16)
    assert (delta.head.status, delta.body.count(b"<item>")) == (226, 1)
    assert (delta.head.fields.get("im"), delta.head.fields.get("delta-base")) == ("feed", '"1"')
    assert delta.head.fields.get("content-length") == str(len(delta.body))
    assert (record.status, record.encoding, record.feed) == (226, "", "delta")
    assert record.spared_bytes == len(whole.body) - len(delta.body)


async def test_a_delta_is_compressed_for_a_reader_that_accepts_it(tmp_path: Path) -> None:
    _, plain, _ = await polled_twice(tmp_path, kept=15, A_IM="feed")
    _, coded, record = await polled_twice(tmp_path, kept=15, A_IM="feed", Accept_Encoding="gzip")
    assert gzip.decompress(coded.body) == plain.body
    assert coded.head.fields.get("content-encoding") == record.encoding == "gzip"
    assert coded.head.fields.get("content-length") == str(len(coded.body))


@pytest.mark.parametrize(
    "case",
    [
        {"A_IM": "vcdiff"},
        {"A_IM": "feed", "base": '"unknown"'},
        {"A_IM": "feed", "config": "[default]\nfeed_delta = false"},
        {"A_IM": "feed", "kept": 0, "added": 2},  # nothing that the reader has: the delta would be the whole
    ],
)
async def test_other_readers_get_the_whole_feed(tmp_path: Path, case: dict[str, str]) -> None:
    _, answer, record = await polled_twice(tmp_path, **case)  # type: ignore[arg-type]
    assert (answer.head.status, answer.body.count(b"<item>")) == (200, 2)
    assert "im" not in answer.head.fields
    assert (record.status, record.feed, record.spared_bytes) == (200, "full", 0)


async def content(*pieces: bytes) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(
    ("length", "is_read"),
    [("8", True), ("100", True), ("101", False), ("0100", False), ("9" * 5_000, False), ("", False), ("-8", False)],
)
async def test_content_is_waited_for_up_to_the_longest_document_that_is_read(
    length: str, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "DOCUMENT_BYTES", 100)
    fields = Fields([("Content-Length", length)] if length else [])
    answer = Answer(Head(200, fields), chunks=content(b"<rss", b"/>"))
    assert await deltas._is_whole(answer) is is_read
    assert (answer.body, answer.chunks is None) == ((b"<rss/>", True) if is_read else (b"", False))


async def test_content_that_is_there_is_whole_whatever_its_length() -> None:
    answer = Answer(Head(200), b"<rss/>")
    assert await deltas._is_whole(answer)
    assert answer.body == b"<rss/>"
