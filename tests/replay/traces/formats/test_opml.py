import gzip
from pathlib import Path

import pytest

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.opml import ListedFeed, address_key, listed_feeds, looks_like_opml
from bestbefore.replay.traces.opening import open_trace

LIST = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- exported -->
<OPML version="1.0"><head><title>Mine</title></head><body>
  <outline text="News">
    <outline text="Near" title="Nearby">
      <outline type="rss" title="Gr\xfc\xdfe" text="x" xmlUrl="http://e.org/feed?a=1&b=2&amp;c=3" htmlUrl="http://e.org/"/>
    </outline>
    <outline text="again" xmlURL="feed:https://f.org/"/>
  </outline>
  <outline text="Again"><outline xmlUrl="https://f.org/"/></outline>
  <outline text="a folder without feeds"/>
</body></OPML>"""


def feeds(path: Path, content: bytes) -> tuple[ListedFeed, ...]:
    path.write_bytes(content)
    with open_trace(path) as source:
        return listed_feeds(source)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_feeds_stand_in_folders_and_count_once(tmp_path: Path, pack: type[bytes]) -> None:
    assert feeds(tmp_path / "l", pack(LIST)) == (
        ListedFeed("http://e.org/feed?a=1&b=2&c=3", "Grüße", "http://e.org/", "News/Nearby"),
        ListedFeed("https://f.org/", "again", "", "News"),
    )


def test_a_list_is_known_by_its_first_element() -> None:
    assert looks_like_opml(LIST)
    assert looks_like_opml(LIST.decode("latin-1").replace("ISO-8859-1", "UTF-16").encode("utf-16"))
    for other in (b"", b"<rss><opml>", b"opml", b"<opmlx>", b"<!--" * 1000, b"<!-- -->" * 500 + b"<x>"):
        assert not looks_like_opml(other)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "no feed: expected OPML with an outline that has an xmlUrl"),
        (b"<opml><body><outline text='x'/></body></opml>", "no feed: expected OPML"),
        (b"<opml>" + b"<outline text='x'>" * 100_000, "no feed: expected OPML"),
        (b"<opml>" + b" " * (8 << 20), "larger than 8,388,608 bytes: expected a list of feeds (OPML)"),
        (gzip.compress(LIST)[:-20], "the gzip data are corrupt or truncated: "),
    ],
)
def test_what_is_no_list_is_refused_in_one_line(tmp_path: Path, content: bytes, wrong: str) -> None:
    with pytest.raises(TraceError) as error:
        feeds(tmp_path / "l", content)
    assert str(error.value).startswith(f"{tmp_path / 'l'}: {wrong}")


def test_addresses_that_differ_in_what_publishers_change_are_one() -> None:
    same = (
        "http://E.org/Feed", "https://e.org/Feed/", "feed:https://e.org/Feed#top", "feed://e.org/Feed", " e.org/Feed"
    )
    assert {address_key(address) for address in same} == {"e.org/Feed"}
    other = ("http://e.org/feed", "http://e.org/Feed?to=http://e.org/Feed", "http://www.e.org/Feed")
    assert len({address_key(address) for address in (*same, *other)}) == 4
