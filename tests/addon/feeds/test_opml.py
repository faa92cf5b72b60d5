import pytest

from bestbefore.addon.feeds.opml import FILE_BYTES, feed_addresses

LIST = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<opml version="2.0"><head><title>Abonn\xe9s</title></head><body>
  <outline text="news">
    <outline type="rss" text="a" xmlUrl=" https://a.example/feed?x=1&amp;y=2 " htmlUrl="https://a.example/"/>
    <outline text="b" xmlurl="feed://b.example/atom"/>
  </outline>
  <outline text="c" xmlUrl="feed:https://c.example/rss"/>
  <outline text="again" xmlUrl="https://a.example/feed?x=1&amp;y=2"/>
  <outline text="folder"/><outline xmlUrl=""/>
</body></opml>"""


def test_the_addresses_of_feeds_are_read_once_each_in_order() -> None:
    assert feed_addresses(LIST) == ["https://a.example/feed?x=1&y=2", "http://b.example/atom", "https://c.example/rss"]


def test_a_truncated_file_is_read_as_far_as_it_goes() -> None:
    assert feed_addresses(LIST[: LIST.index(b"feed:https")]) == [
        "https://a.example/feed?x=1&y=2", "http://b.example/atom",
    ]


@pytest.mark.parametrize("content", [b"", b"not XML", b"<rss/>", b"{}", b"<opml>" + b" " * FILE_BYTES + b"</opml>"])
def test_what_is_not_opml_or_too_large_has_no_addresses(content: bytes) -> None:
    assert feed_addresses(content) is None


def test_a_file_with_entities_is_refused_as_they_could_grow_without_bound() -> None:
    bomb = b'<!DOCTYPE opml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    assert feed_addresses(bomb + b'<opml><outline xmlUrl="http://x/&b;"/></opml>') is None
