"""What the documents of a feed show: which items are new, when they were posted, which were edited."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine.listing import (
    EARLIEST_S,
    GONE_REMEMBERED,
    VERSIONS_REMEMBERED,
    Feed,
    FeedChange,
    Listing,
    read_first,
    read_next,
)
from bestbefore.addon.feeds.document import MAX_ITEMS, Document, Hints, Item

T = 1_795_161_600.0
HOUR = 3600.0


def listing(*items: tuple[str, float | None] | tuple[str, float | None, int], tag: str = "") -> Listing:
    """A document with these items: name, time, content."""
    listed = tuple(Item(item[0], item[1], item[2] if len(item) > 2 else 0) for item in items)
    return Listing.of(Document("rss", listed), tag)


def after(*documents: Listing, every_s: float = HOUR, posted_s: Sequence[float] = ()) -> FeedChange:
    """What the last of these documents shows; the first is seen at T, the others each an hour later."""
    shown = read_first(documents[0], T)
    for number, document in enumerate(documents[1:], 1):
        shown = read_next(shown.feed, document, T + number * every_s, posted_s)
    return shown


def test_the_first_document_gives_the_history_from_its_oldest_item_on() -> None:
    shown = after(listing(("b", T - 10), ("a", T - HOUR), ("undated", None)))
    assert shown.postings == ((T - HOUR, T - HOUR), (T - 10, T - 10))
    assert shown.since_s == T - HOUR


def test_dates_in_1970_or_2099_are_ignored() -> None:
    shown = after(listing(("a", 0.0), ("b", 4_070_908_800.0), ("c", T - 10), ("d", EARLIEST_S - 1), ("e", -1e10)))
    assert shown.postings == ((T - 10, T - 10),)
    assert after(listing(("a", 0.0))).since_s is None


def test_items_posted_between_two_contacts_are_updates_at_their_own_times() -> None:
    shown = after(listing(("a", T - 10)), listing(("c", T + 200), ("b", T + 100), ("a", T - 10)))
    assert shown.postings == ((T + 100, T + 100), (T + 200, T + 200))


def test_an_item_of_the_second_of_the_last_contact_may_be_later_than_it() -> None:
    shown = read_next(read_first(listing(("a", None)), T + 0.9).feed, listing(("b", T)), T + HOUR, ())
    assert shown.postings == ((T, T),)


@pytest.mark.parametrize("time_s", [None, 0.0, T - 2 * HOUR, T + 2 * HOUR])
def test_a_new_item_without_a_time_of_the_interval_was_posted_within_it(time_s: float | None) -> None:
    assert after(listing(("a", T - 10)), listing(("b", time_s), ("a", T - 10))).postings == ((T, T + HOUR),)


def test_several_such_items_share_the_interval() -> None:
    shown = after(listing(("a", None)), listing(("c", None), ("b", None), ("a", None)))
    assert shown.postings == ((T, T + HOUR / 2), (T + HOUR / 2, T + HOUR))


def test_an_edited_item_is_counted_apart() -> None:
    shown = after(listing(("a", T - 10, 1), ("b", T - 20, 1)), listing(("a", T + 10, 2), ("b", T - 20, 1)))
    assert shown.postings == ()
    assert shown.feed.edited == 1


def test_an_item_that_is_listed_again_is_no_posting() -> None:
    shown = after(listing(("a", None), ("b", None)), listing(("b", None)), listing(("a", None), ("b", None)))
    assert shown.postings == ()


def test_an_item_under_another_name_at_the_moment_of_a_known_posting_is_that_posting() -> None:
    shown = after(listing(("http://a", T - 10)), listing(("https://a", T - 10)), posted_s=[T - 10])
    assert shown.postings == ()


def test_who_bears_an_entity_tag_has_seen_what_was_listed_under_it() -> None:
    first, second = listing(("a", None), tag='"1"'), listing(("b", None), ("a", None), tag='"2"')
    feed = after(first, second, listing(("b", None), ("a", None), tag='"3"')).feed
    seen = feed.seen_under('"1"')
    assert seen is not None
    assert [known.serial > seen for known in feed.items.values()] == [True, False]
    assert feed.seen_under('"3"') == feed.seen_under('"2"') == feed.serial
    assert feed.seen_under('"4"') is None


def test_an_item_that_is_edited_or_back_is_new_to_those_who_saw_an_earlier_list() -> None:
    documents = (
        listing(("a", None, 1), ("b", None, 1), tag='"1"'),
        listing(("a", None, 2), tag='"2"'),
        listing(("a", None, 2), ("b", None, 1), tag='"3"'),
    )
    feed = after(*documents).feed
    for tag, unseen in (('"1"', [True, True]), ('"2"', [False, True]), ('"3"', [False, False])):
        seen = feed.seen_under(tag)
        assert seen is not None
        assert [known.serial > seen for known in feed.items.values()] == unseen


def test_a_tag_that_an_origin_uses_again_means_what_was_listed_first() -> None:
    feed = after(listing(("a", None), tag='"1"'), listing(("b", None), tag='"1"')).feed
    assert feed.seen_under('"1"') == 1 < feed.serial


def test_what_is_remembered_is_bounded() -> None:
    documents = [
        listing(*((f"{number}.{place}", None) for place in range(20)), tag=f'"{number}"') for number in range(90)
    ]
    feed = after(*documents).feed
    assert len(feed.items) == 20
    assert len(feed.gone) == GONE_REMEMBERED
    assert len(feed.versions) == VERSIONS_REMEMBERED
    large = listing(*((str(number), None) for number in range(50_000)))
    assert len(large.packed) == 24 * MAX_ITEMS


def test_after_a_clock_was_set_back_undated_items_are_no_updates() -> None:
    feed = Feed(-math.inf, hints=Hints())
    assert read_next(feed, listing(("a", None), ("b", T - 5)), T, ()).postings == ((T - 5, T - 5),)


ITEMS = st.tuples(
    st.sampled_from("abcdefgh"), st.one_of(st.none(), st.floats(T - 5 * HOUR, T + 9 * HOUR)), st.integers(0, 1)
)


@settings(max_examples=150, derandomize=True)
@given(st.lists(st.lists(ITEMS, max_size=6, unique_by=lambda item: item[0]), min_size=2, max_size=6))
def test_each_name_is_posted_once_and_within_the_interval_of_its_contact(documents: list) -> None:
    shown = read_first(listing(*documents[0]), T)
    names = {item[0] for item in documents[0]}
    for number, document in enumerate(documents[1:], 1):
        last_s, t_s = T + (number - 1) * HOUR, T + number * HOUR
        shown = read_next(shown.feed, listing(*document), t_s, ())
        new = {item[0] for item in document} - names
        names |= new
        assert len(shown.postings) <= len(new)
        assert (len(shown.postings) > 0) == (len(new) > 0)
        assert all(last_s - 1 < by_s <= t_s + 1e-6 and after_s <= by_s for after_s, by_s in shown.postings)
