"""Who gets a delta, from what, and under which head."""

import pytest

from bestbefore.addon.engine.feed_delta import Base, base_of, has_seen, head_of, is_asked_for, may_replace
from bestbefore.addon.engine.listing import Feed, Listing, read_first, read_next
from bestbefore.addon.feeds.document import Document, Item
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

TARGET = Target.parse("http://x/feed")
A, B, C = Item("a", None, 1), Item("b", None, 1), Item("c", None, 1)


def request(**fields: str) -> Request:
    return Request("GET", TARGET, Fields((name.replace("_", "-"), value) for name, value in fields.items()))


def head(*lines: tuple[str, str], status: int = 200) -> Head:
    return Head(status, Fields([("ETag", '"2"'), *lines]))


def feed(*versions: tuple[str, tuple[Item, ...]]) -> Feed:
    """Documents under their tags, seen one after the other."""
    known = None
    for t_s, (tag, items) in enumerate(versions):
        listing = Listing.of(Document("rss", items), tag)
        shown = read_first(listing, t_s) if known is None else read_next(known, listing, t_s, ())
        known = shown.feed
    assert known is not None
    return known


@pytest.mark.parametrize("a_im", ["feed", "vcdiff, FEED ;q=0.5", "feed;q=1.0", "gzip,feed"])
def test_a_client_asks_for_it_with_a_im_and_what_it_has(a_im: str) -> None:
    assert is_asked_for(request(A_IM=a_im, If_None_Match='"1"'))
    assert not is_asked_for(request(A_IM=a_im))


@pytest.mark.parametrize("a_im", ["", "vcdiff", "feed;q=0", "feed; q=0.000", "feeds"])
def test_a_client_that_does_not_ask_gets_the_whole(a_im: str) -> None:
    assert not is_asked_for(request(A_IM=a_im, If_None_Match='"1"'))


def test_only_a_200_with_a_tag_that_may_be_transformed_is_replaced() -> None:
    assert may_replace(head())
    assert not may_replace(head(status=206))
    assert not may_replace(Head(200))
    assert not may_replace(head(("Cache-Control", "max-age=60, No-Transform")))


def test_what_was_listed_and_not_edited_since_the_base_was_seen() -> None:
    edited = Item("a", None, 2)
    known = feed(('"1"', (A, B)), ('"2"', (C, edited, B)))
    base = base_of(request(If_None_Match='W/"1", "unknown"'), known)
    assert base == Base(EntityTag('"1"', weak=True), 1)
    assert [has_seen(item, known, base) for item in (C, edited, B, A)] == [False, False, True, False]


def test_of_several_bases_the_latest_counts_and_without_a_known_one_there_is_none() -> None:
    known = feed(('"1"', (A,)), ('"2"', (B, A)), ('"3"', (C, B, A)))
    base = base_of(request(If_None_Match='"1", "2"'), known)
    assert base is not None
    assert str(base.tag) == '"2"'
    assert base_of(request(If_None_Match='"0"'), known) is None
    assert base_of(request(If_None_Match="*"), known) is None


def test_the_head_says_what_was_done_and_keeps_other_caches_from_storing_it() -> None:
    full = head(
        ("Cache-Control", "max-age=60"), ("Content-Type", "text/xml"), ("Content-Encoding", "br"),
        ("Content-Length", "999"), ("Vary", "accept-encoding"), ("Accept-Ranges", "bytes"), ("Last-Modified", "x"),
    )  # fmt: skip
    assert head_of(full, Base(EntityTag('"1"'), 1), 10, "gzip") == Head(
        226,
        Fields([
            ("ETag", '"2"'), ("Content-Type", "text/xml"), ("Last-Modified", "x"),
            ("IM", "feed"), ("Delta-Base", '"1"'),
            ("Cache-Control", "no-store, im, max-age=60"), ("Vary", "accept-encoding, A-IM, If-None-Match"),
            ("Content-Length", "10"), ("Content-Encoding", "gzip"),
        ]),
        "IM Used",
    )  # fmt: skip
