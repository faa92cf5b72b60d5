"""A feed less the items that were seen, to the byte."""

from collections.abc import Callable

import feedparser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds.delta import reduced
from bestbefore.addon.feeds.document import Item
from bestbefore.addon.feeds.extract import extract

RSS = """<?xml version="1.0" encoding="{encoding}"?>
<!-- a > b --><rss version="2.0" xmlns:x="urn:x">
  <channel><title>caf\u00e9</title>
    <item><guid>1</guid><title><![CDATA[ </item> ]]></title></item>
    <item x:a="2 > 1"><guid>2</guid><x:item/></item>

    <item><guid>3</guid><title>caf\u00e9</title></item >
    <copyright>c</copyright>
  </channel>
</rss>
"""
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>1</id></entry>'
    "<a:entry xmlns:a='http://www.w3.org/2005/Atom'><a:id>2</a:id></a:entry><entry><id>3</id></entry></feed>"
)


def seen(*names: str) -> Callable[[Item], bool]:
    return lambda item: item.name in names


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_the_bytes_between_the_items_stay_as_they_were(encoding: str) -> None:
    text = RSS.format(encoding=encoding)
    expected = (
        text.replace("<item><guid>1</guid><title><![CDATA[ </item> ]]></title></item>\n    ", "").replace(
            "<item><guid>3</guid><title>caf\u00e9</title></item >\n    ", ""
        )
    )
    assert reduced(text.encode(encoding), seen("1", "3")) == expected.encode(encoding)


def test_who_has_seen_nothing_gets_all_and_who_has_seen_all_no_item() -> None:
    for text in (RSS.format(encoding="utf-8"), ATOM):
        body = text.encode()
        assert reduced(body, seen()) == body
        rest = reduced(body, seen("1", "2", "3"))
        assert rest is not None
        document = extract(rest)
        assert document is not None
        assert document.items == ()


def test_entries_of_atom_are_cut_by_whatever_prefix_they_have() -> None:
    before, after = ATOM.partition("<a:entry")[0], ATOM.partition("</a:entry>")[2]
    assert reduced(ATOM.encode(), seen("2")) == f"{before}{after}".encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html/>",
        b"<rss><channel><item><guid>1</guid></item>",
        b"<rss><channel><item><guid>1 & 2</guid></item></channel></rss>",
        b"<rss><channel><item><guid>1</guid></item><item/></channel></rss>",
        b"<rss><channel><item/><item><guid>1</guid></item></channel></rss>",
        b"<rss><channel><item><guid>1</guid></item><item><guid>1</guid></item></channel></rss>",
        b"<rss><channel><item><guid>1</guid></item></channel><item><guid>2</guid></item></rss>",
        b"<!DOCTYPE rss [<!ENTITY a 'b'>]><rss><channel><item><guid>1</guid></item></channel></rss>",
        b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1"}]}',
        RSS.format(encoding="x-nonsense").encode(),
    ],
)
def test_where_it_cannot_be_said_what_to_cut_nothing_is(body: bytes) -> None:
    assert reduced(body, seen("1")) is None


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.sets(st.integers(0, 9)), st.sampled_from(["rss", "atom"]), st.text("\n\t <>&a\u00e9", max_size=9))
def test_a_reader_finds_the_other_items_and_only_those(known: set[int], kind: str, words: str) -> None:
    title = f"<title><![CDATA[{words}]]></title>"
    if kind == "rss":
        items = "\n".join(f"<item>{title}<guid>{n}</guid></item>" for n in range(10))
        text = f"<rss version='2.0'><channel>{title}{items}</channel></rss>"
    else:
        items = "\n".join(f"<entry>{title}<id>{n}</id></entry>" for n in range(10))
        text = f"<feed xmlns='http://www.w3.org/2005/Atom'>{title}{items}</feed>"
    rest = reduced(text.encode(), seen(*map(str, known)))
    assert rest is not None
    found = feedparser.parse(rest)
    assert not found.bozo
    assert [entry.id for entry in found.entries] == [str(n) for n in range(10) if n not in known]
