"""Feeds are known by their content; what is none, too large or malicious is read no further than the limits say."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds import json_feed, xml_feed
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES, MAX_MARKS, START_BYTES, extract, looks_like_feed

RSS = b'<rss version="2.0"><channel><title>t</title><item><guid>1</guid></item></channel></rss>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>1</id></entry></feed>'
RDF = (
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    b'<channel rdf:about="x"><title>t</title></channel><item rdf:about="1"><title>t</title></item></rdf:RDF>'
)
JSON = b'{"version": "https:\\/\\/jsonfeed.org\\/version\\/1.1", "title": "t", "items": [{"id": "1"}]}'
FEEDS = [("rss", RSS), ("atom", ATOM), ("rdf", RDF), ("json", JSON)]

EVERYWHERE = [
    lambda text: text,
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: b"\r\n  " + text,
    lambda text: text.decode().encode("utf-16"),
]
XML_ONLY = [
    lambda text: b'<?xml version="1.0" encoding="utf-8"?>\n' + text,
    lambda text: b'<?xml version="1.0" encoding="x-nonsense"?>' + text,
    lambda text: b'<?xml version="1.0" encoding="utf-16"?>' + text,  # it is not
    lambda text: '<?xml version="1.0" encoding="utf-16"?>'.encode("utf-16") + text.decode().encode("utf-16-le"),
    lambda text: b"<?xml-stylesheet href='x'?><!-- <html> -->" + text,
    lambda text: b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://localhost:9/rss.dtd">' + text,
    lambda text: b'<!DOCTYPE x [<!ENTITY a "<b>">]>' + text,
]
DRESSED = [
    pytest.param(kind, dress(text), id=f"{kind}-{number}")
    for kind, text in FEEDS
    for number, dress in enumerate(EVERYWHERE + (XML_ONLY if kind != "json" else []))
]


@pytest.mark.parametrize(("kind", "body"), DRESSED)
def test_a_feed_is_known_by_its_content(kind: str, body: bytes) -> None:
    assert looks_like_feed(body)
    document = extract(body)
    assert document is not None
    assert (document.kind, [item.name for item in document.items]) == (kind, ["1"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"<",
        b"<!--",
        b"<html><body><rss><channel><item/></channel></rss></body></html>",
        b"<!DOCTYPE html><html><head><title>t</title></head></html>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><feed/></svg>",
        b"<feed><title>no namespace, no entry</title></feed>",
        b"<rssx><channel><item/></channel></rssx>",
        b'{"items": [], "version": 1}',
        b'["https://jsonfeed.org/version/1"]',
        b'{"version": "https://jsonfeed.org/version/1", "items": [',
        b'{"version": "https://jsonfeed.org/version/1", "items": ' + b"[" * 100_000,
        b"GIF89a" + bytes(100),
        b"\xff\xfe",
        "page".encode("utf-16"),
    ],
)
def test_what_is_no_feed_is_none(body: bytes) -> None:
    assert extract(body) is None


@pytest.mark.parametrize(
    "start", [b"", b" \n", b"<", b"<?xml version", b"<?xml version='1.0'?>\n", b"<!-- a", b"<rss", b"<rdf:RD"]
)
def test_a_start_may_be_too_short_to_recognise_a_feed(start: bytes) -> None:
    assert looks_like_feed(start) is None


@pytest.mark.parametrize("start", [b"<!DOCTYPE html><html ", b"text", b"< rss>", b"{", b"<!--" + bytes(START_BYTES)])
def test_a_start_may_be_that_of_something_else(start: bytes) -> None:
    assert looks_like_feed(start) is False


def test_after_four_kibibytes_no_more_of_a_start_is_waited_for() -> None:
    assert looks_like_feed(b"<!--".ljust(START_BYTES - 1)) is None
    assert looks_like_feed(b"<!--".ljust(START_BYTES)) is False


def test_a_feed_without_items_is_one() -> None:
    for body in (b"<rss><channel/></rss>", b'<feed xmlns="http://www.w3.org/2005/Atom"/>'):
        document = extract(body)
        assert document is not None
        assert document.items == ()


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    st.sampled_from([body for _, body in FEEDS]),
    st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=8), st.integers(0, 8)), max_size=6),
)
def test_any_bytes_are_a_feed_or_none(body: bytes, edits: list[tuple[int, bytes, int]]) -> None:
    for at, inserted, removed in edits:
        body = body[:at] + inserted + body[at + removed :]
    looks_like_feed(body)
    document = extract(body)
    assert document is None or len({item.name for item in document.items}) == len(document.items)


def test_nested_entities_are_not_expanded() -> None:
    entities = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12))
    body = b'<!DOCTYPE r [<!ENTITY l0 "lol">' + entities + b"]>" + RSS.replace(b"1<", b"1&l11;<").replace(
        b"<item>", b'<item a="&l11;">'
    )
    began_s = time.process_time()
    document = extract(body)
    assert time.process_time() - began_s < 1.0
    assert document is None or sum(len(item.name) for item in document.items) < 1000


def test_no_external_entity_is_read() -> None:
    body = b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + RSS.replace(b"1<", b"1&x;<")
    document = extract(body)
    assert document is not None
    assert "root" not in document.items[0].name


def test_a_document_that_is_too_large_or_too_dense_is_not_read() -> None:
    padded = RSS.replace(b"<title>", b"<title>" + b"x" * DOCUMENT_BYTES)
    dense = RSS.replace(b"<item>", b"<item>" + b"<a/>" * MAX_MARKS)
    assert extract(padded) is None
    assert extract(dense) is None
    assert extract(JSON.replace(b"[{", b"[" + b"[]," * MAX_MARKS + b"{")) is None


def test_a_document_may_have_eight_mebibytes_and_no_more() -> None:
    largest = JSON.ljust(8 << 20)
    assert extract(largest) is not None
    assert extract(largest + b" ") is None


@pytest.mark.slow
def test_fifty_thousand_items_are_read() -> None:
    item = b"<item><guid>%d</guid><pubDate>Fri, 20 Nov 2026 08:00:00 GMT</pubDate></item>"
    document = extract(b"<rss><channel>" + b"".join(item % n for n in range(50_000)) + b"</channel></rss>")
    assert document is not None
    assert len(document.items) == 50_000
    assert len(document.latest) == 1024


def test_of_endless_items_the_first_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (xml_feed, json_feed):
        monkeypatch.setattr(module, "MAX_PARSED_ITEMS", 3)
    for body in (
        b"<rss><channel>" + b"".join(b"<item><guid>%d</guid></item>" % n for n in range(9)) + b"</channel></rss>",
        JSON.replace(b'{"id": "1"}', b",".join(b'{"id": %d}' % n for n in range(9))),
    ):
        document = extract(body)
        assert document is not None
        assert [item.name for item in document.items] == ["0", "1", "2"]
