"""Stored feeds, alone, in folders and on lists. Each item is (identifier, day of January 2024)."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bestbefore.addon.feeds import json_feed
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES, MAX_MARKS
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats import feeds
from bestbefore.replay.traces.reading import Reading, read_trace

Items = Sequence[tuple[str, int | None]]


def day_s(day: int) -> float:
    return datetime(2024, 1, day, tzinfo=UTC).timestamp()


def rss(items: Items, *, title: str = "", home: str = "", address: str = "") -> bytes:
    dates = {item: "" if day is None else f"<pubDate>{day} Jan 2024</pubDate>" for item, day in items}
    listed = "".join(f"<item><guid>{item}</guid>{dated}</item>" for item, dated in dates.items())
    link = f'<link xmlns="http://www.w3.org/2005/Atom" rel="self" href="{address}"/>' if address else ""
    return f"<rss><channel>{link}<title>{title}</title><link>{home}</link>{listed}</channel></rss>".encode()


def atom(entries: dict[str, str], **links: str) -> bytes:
    listed = "".join(f"<entry><id>{name}</id><updated>{time}</updated></entry>" for name, time in entries.items())
    told = "".join(f'<link rel="{relation}" href="{href}"/>' for relation, href in links.items())
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{told}{listed}</feed>'.encode()


def opml(*addresses: str, **attributes: str) -> bytes:
    told = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    outlines = "".join(f'<outline xmlUrl="{address}" {told}/>' for address in addresses)
    return f"<opml><body>{outlines}</body></opml>".encode()


@pytest.fixture
def archive(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Store documents, by their places."""

    def archive(documents: dict[str, bytes]) -> Path:
        for place, content in documents.items():
            path = tmp_path / "archive" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / "archive"

    return archive


Archive = Callable[[dict[str, bytes]], Path]


def rows(reading: Reading) -> list[tuple[float, str]]:
    assert isinstance(reading.trace, Updates)
    return list(reading.trace.rows())


def test_the_items_of_one_document_are_the_updates_of_its_feed(archive: Archive) -> None:
    folder = archive({"a.rss": rss([("1", 1), ("2", 5)], address="http://e.org/feed")})
    reading = read_trace(folder / "a.rss", None)
    assert (reading.format, rows(reading)) == (
        "feeds", [(day_s(1), "http://e.org/feed"), (day_s(5), "http://e.org/feed")]
    )


def test_what_several_documents_list_is_one_posting(archive: Archive) -> None:
    folder = archive({
        "blog/1.xml": rss([("1", 1), ("2", 2)], title="Blog"),
        "blog/2.xml.gz": gzip.compress(rss([("2", 2), ("3", 3)], title="Blog")),
        "blog/3.xml": rss([("2", 4), ("3", 3)], title="Blog"),
    })
    reading = read_trace(folder, None)
    assert rows(reading) == [(day_s(day), "Blog") for day in (1, 2, 3)]
    assert list(reading.skipped.remarks()) == [
        f"{folder}: items repeated by another document: 2",
        f"{folder}: items repeated with another time, the earlier one taken: 1",
    ]


def test_without_a_list_feeds_are_called_as_they_say_else_as_the_file(archive: Archive) -> None:
    folder = archive({
        "a.xml": rss([("1", 1)], address="http://e.org/feed", title="E"),
        "b.xml": rss([("2", 2)], title="B", home="http://b.org/"),
        "c/d.xml": rss([("3", 3)]),
        "e.json": b'{"items": [{"id": 4, "date_published": "2024-01-04"}], "feed_url": "http://j.org/", "version": '
        b'"https://jsonfeed.org/version/1.1"}',
    })
    assert rows(read_trace(folder, None)) == [
        (day_s(1), "http://e.org/feed"), (day_s(2), "http://b.org/ B"), (day_s(3), "c/d"), (day_s(4), "http://j.org/"),
    ]


def test_archived_documents_are_of_the_feed_that_they_call_current(archive: Archive) -> None:
    """RFC 5005, section 4."""
    folder = archive({
        "now.atom": atom({"c": "2024-01-03T00:00:00Z"}, self="https://e.org/feed"),
        "2.atom": atom({"b": "2024-01-02T00:00:00Z"}, current="http://e.org/feed", self="http://e.org/2"),
        "1.atom": atom({"a": "2024-01-01T00:00:00Z"}, current="http://E.org/feed/", self="http://e.org/1"),
    })
    assert [time_s for time_s, _ in rows(read_trace(folder, None))] == [day_s(1), day_s(2), day_s(3)]
    assert len({name for _, name in rows(read_trace(folder, None))}) == 1


def test_items_without_a_time_are_counted_feed_by_feed(archive: Archive) -> None:
    folder = archive({
        "1.xml": rss([("1", None), ("2", None), ("3", 3)], title="A"),
        "2.xml": rss([("1", None), ("2", 2)], title="A"),
    })
    reading = read_trace(folder, None)
    assert rows(reading) == [(day_s(2), "A"), (day_s(3), "A")]
    assert list(reading.skipped.warnings())[1:] == [f"{folder}: A: 1 of 3 items bear no time since 1995"]


def test_items_dated_before_there_were_feeds_or_ahead_are_not_believed(archive: Archive) -> None:
    entries = {"a": "1970-01-01T00:00:00Z", "b": "2024-01-02T00:00:00Z", "c": "2024-01-09T00:00:00Z"}
    path = archive({"f.atom": atom(entries)}) / "f.atom"
    reading = read_trace(path, None, now_s=day_s(5))
    assert rows(reading) == [(day_s(2), "f")]
    assert list(reading.skipped.remarks()) == [f"{path}: updates left out, dated in the future: 1"]
    assert reading.skipped.count == 1


def test_postings_of_one_moment_are_one_update(archive: Archive) -> None:
    reading = read_trace(archive({"f.xml": rss([("1", 1), ("2", 1)])}) / "f.xml", None)
    assert rows(reading) == [(day_s(1), "f")]
    assert reading.skipped.notes == {"items posted together with another of their feed, one update": 1}


def test_a_list_names_and_selects_the_feeds_of_its_folder(archive: Archive) -> None:
    folder = archive({
        "subscriptions.opml": opml("feed://e.org/feed", "http://gone.org/1", "http://gone.org/2"),
        "a.xml": rss([("1", 1)], address="https://e.org/feed"),
        "b.xml": rss([("2", 2)], address="http://other.org/"),
        "c.xml": rss([("3", 3)], address="http://another.org/"),
    })
    reading = read_trace(folder / "subscriptions.opml", None)
    assert (reading.format, rows(reading)) == ("opml", [(day_s(1), "http://e.org/feed")])
    assert dict(reading.skipped.notes) == {
        "documents left out, of no feed on the list, such as b.xml": 2,
        "feeds on the list of which no document was found, such as http://gone.org/1": 2,
    }


@pytest.mark.parametrize(
    "place",
    ["e.org/feed", "e.org/feed.xml", "e.org/feed/index.html", "e.org/feed/2024-01-01.xml",
     "https%3A%2F%2Fe.org%2Ffeed.xml", "The E.xml", "the e/2024-01-01.xml.gz"],
)
def test_documents_that_do_not_say_their_address_are_found_by_their_place(archive: Archive, place: str) -> None:
    folder = archive({
        "l.opml": opml("https://e.org/feed", text="The E"), place: rss([("1", 1)]), "x/y.xml": rss([("2", 2)])
    })
    assert rows(read_trace(folder / "l.opml", None)) == [(day_s(1), "https://e.org/feed")]


@pytest.mark.parametrize("said", [{"title": "The E"}, {"home": "http://e.org"}])
def test_or_by_title_or_home_page_if_that_is_of_one_feed_only(archive: Archive, said: dict[str, str]) -> None:
    folder = archive({
        "one.opml": opml("https://e.org/feed", text="the E", htmlUrl="https://e.org/"),
        "two.opml": opml("https://e.org/feed", "https://e.org/other", text="the E", htmlUrl="https://e.org/"),
        "1.xml": rss([("1", 1)], **said),
    })
    assert rows(read_trace(folder / "one.opml", None)) == [(day_s(1), "https://e.org/feed")]
    with pytest.raises(TraceError, match=r"of no feed on the list, such as 1\.xml: 1;"):
        read_trace(folder / "two.opml", None)


def test_a_document_with_another_address_is_not_taken_for_the_feed_of_its_home_page(archive: Archive) -> None:
    """Blogs have a second feed, of the comments."""
    folder = archive({
        "l.opml": opml("https://e.org/feed", htmlUrl="https://e.org/", text="E"),
        "1.xml": rss([("1", 1)], home="https://e.org/", title="E", address="https://e.org/feed"),
        "2.xml": rss([("2", 2)], home="https://e.org/", title="E", address="https://e.org/comments/feed"),
    })
    assert rows(read_trace(folder / "l.opml", None)) == [(day_s(1), "https://e.org/feed")]


def test_other_documents_are_left_out_and_malformed_feeds_are_reported(archive: Archive) -> None:
    good = rss([("1", 1)])
    folder = archive({
        "good.xml": good, "README": b"hello", "empty": b"", "page.html": b"<!doctype html><html></html>",
        ".git/good.xml": good, "cut.xml.gz": gzip.compress(good)[:-9], "cut.xml": b"<rss",
        "large.xml": b"<rss>" + b" " * (64 << 20), "none.xml": b"<rss><channel/></rss>", "log.json": b'{"log": 1}',
    })
    os.mkfifo(folder / "pipe.xml")
    (folder / "self").symlink_to(folder)
    reading = read_trace(folder, None)
    assert rows(reading) == [(day_s(1), "good")]
    assert reading.skipped.notes == {"files left out, no feeds": 3, "documents without items": 1}
    _, *shown = reading.skipped.warnings()
    assert shown == [
        f"{folder}: cut.xml: expected RSS, RDF, Atom or JSON Feed",
        f"{folder}: cut.xml.gz: the gzip data are corrupt or truncated: Compressed file ended before the end-of-stream "
        f"marker was reached",
        f"{folder}: empty: expected RSS, RDF, Atom or JSON Feed",
    ]
    assert reading.skipped.count == 4


def test_a_document_that_is_too_large_is_reported(archive: Archive) -> None:
    folder = archive({"f.xml": b"<rss>" + b" " * (64 << 20)})
    told = "f.xml: expected RSS, RDF, Atom or JSON Feed, of at most 67,108,864 bytes and 5,000,000 tags and attributes"
    with pytest.raises(TraceError, match=f"{told}$"):
        read_trace(folder, None)


def test_a_document_may_be_larger_and_denser_than_the_proxy_reads(archive: Archive) -> None:
    large = rss([("1", 1)]).replace(b"<item>", b"<item>" + b"<p/>" * MAX_MARKS + b" " * DOCUMENT_BYTES)
    assert rows(read_trace(archive({"f.xml": large}), None)) == [(day_s(1), "f")]


def test_a_document_with_more_items_than_are_read_is_reported(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (json_feed, feeds):
        monkeypatch.setattr(module, "MAX_PARSED_ITEMS", 3)
    items = [{"id": 0, "date_published": "2024-01-01"}, *({"id": number} for number in range(1, 4))]
    many = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode()
    reading = read_trace(archive({"f.json": many}), None)
    assert reading.skipped.notes["documents of which only the first 3 items are read"] == 1


def test_a_bomb_of_entities_is_no_feed_that_anything_can_be_read_from(archive: Archive) -> None:
    pairs = zip("abcdefgh", "bcdefghi", strict=True)
    entities = "".join(f'<!ENTITY {name} "{10 * f"&{before};"}">' for before, name in pairs)
    bomb = f'<!DOCTYPE rss [<!ENTITY a "{"A" * 1000}">{entities}]>'.encode()
    folder = archive({"b.xml": bomb + rss([("&i;", 1)], title="&i;", address="&i;"), "g.xml": rss([("1", 1)])})
    assert rows(read_trace(folder, None))[-1] == (day_s(1), "g")


def test_a_name_that_is_no_utf8_becomes_text(archive: Archive) -> None:
    folder = archive({os.fsdecode(b"\xff.xml"): rss([("1", 1)])})
    assert rows(read_trace(folder, None)) == [(day_s(1), r"\xff")]


def test_other_formats_are_no_folders_and_a_folder_without_feeds_has_nothing(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"^{tmp_path}: a folder: expected a file$"):
        read_trace(tmp_path, "combined")
    with pytest.raises(TraceError, match=f"^{tmp_path}: nothing usable, read as feeds "):
        read_trace(tmp_path, None)
