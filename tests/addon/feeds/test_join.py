"""Deltas joined with their base are the document that the origin has, or are refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.feeds.delta import reduced
from bestbefore.addon.feeds.extract import extract
from bestbefore.addon.feeds.join import joined


def rss(*items: str, title: str = "t", root: str = "") -> bytes:
    text = "".join(f"<item><guid>{item[0]}</guid><title>{item}</title></item>\n" for item in items)
    declared = '<?xml version="1.0"?>'
    return f'{declared}<rss version="2.0"{root}><channel><title>{title}</title>{text}</channel></rss>'.encode()


def atom(*items: str) -> bytes:
    text = "".join(f"<entry><id>{item[0]}</id><title>{item}</title></entry>" for item in items)
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>{text}</feed>'.encode()


def names(document: bytes | None) -> list[str]:
    found = None if document is None else extract(document)
    assert found is not None
    return [item.name for item in found.items]


@pytest.mark.parametrize("feed", [rss, atom])
def test_new_and_edited_items_come_from_the_delta_and_the_others_from_the_base(feed: Callable[..., bytes]) -> None:
    whole = joined(feed("c", "b old", "a"), feed("d", "b new"))
    assert names(whole) == ["d", "b", "c"], "as many as before: a feed lists its latest"
    assert whole is not None
    assert b"b new" in whole
    assert b"b old" not in whole


def test_what_surrounds_the_items_is_that_of_the_delta() -> None:
    whole = joined(rss("b", "a", title="old"), rss("c", title="new"))
    assert whole is not None
    assert b"<title>new</title>" in whole
    assert whole.endswith(b"</channel></rss>")


MANY = ' xmlns:dc="http://purl.org/dc/elements/1.1/"'


@pytest.mark.parametrize(("base", "delta"), [
    (rss("a"), rss()),
    (rss("a"), atom("b")),
    (rss("a"), b"<html><body>busy</body></html>"),
    (rss("a"), rss("b")[:-8]),
    (rss("a")[:-8], rss("b")),
    (rss("a", root=MANY), rss("b")),
    (rss("a", root=' xml:base="http://x/"'), rss("b")),
    (rss("a", root=' xml:base="http://x/"'), rss("b", root=' xml:base="http://y/"')),
    (rss("a").replace(b"<title>a", b"<title>\xe4"), rss("b")),
    (rss("a", "b").replace(b"<title>a</title>", b"<dc:title>a</dc:title>"), rss("c")),
    (b'<!DOCTYPE rss [<!ENTITY x "y">]>' + rss("a")[21:], rss("b")),
])  # fmt: skip
def test_what_does_not_certainly_fit_is_refused(base: bytes, delta: bytes) -> None:
    assert joined(base, delta) is None


ITEMS = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=6)


@given(ITEMS, ITEMS, st.sampled_from([rss, atom]))
def test_it_is_the_inverse_of_a_delta(before: list[str], new: list[str], feed: Callable[..., bytes]) -> None:
    """The items are those of the whole document, of which an origin has cut out those that its reader has seen."""
    new = [item for item in new if item not in before]
    now = [*new, *before][: max(len(before), len(new))]
    delta = reduced(feed(*now), lambda item: item.name in before)
    assert delta is not None
    if new:
        assert names(joined(feed(*before), delta)) == names(feed(*now))


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_no_content_raises(one: bytes, other: bytes) -> None:
    joined(one, other)
    joined(rss("a"), other)
    joined(one, rss("a"))
