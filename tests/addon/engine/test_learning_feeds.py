"""What the record of an object becomes by the documents of a feed, and by what comes in their place."""

from dataclasses import replace
from typing import Any

from bestbefore.addon.engine.learning import DETAILED_UPDATES, Record, RecordChange, observe, until
from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.update import Update
from bestbefore.addon.feeds.document import Document, Item

T = 1_795_161_600.0
HOUR = 3600.0


def feed(t_s: float, *items: tuple[str, float | None], variant: str = "", **known: Any) -> Observation:
    """A contact that brought a document with these items."""
    listed = tuple(Item(name, time_s, 0) for name, time_s in items)
    listing = Listing.of(Document("rss", listed), "")
    return Observation("http://x/feed", t_s, variant, Fingerprint(body=repr(items)), listing=listing, **known)


def page(t_s: float, body: str, *, gone: bool = False) -> Observation:
    """A contact that brought something else."""
    return Observation("http://x/feed", t_s, "", Fingerprint(body=body, gone=gone))


def unchanged(t_s: float) -> Observation:
    """A 304."""
    return Observation("http://x/feed", t_s, "", None)


def learn(*seen: Observation) -> RecordChange:
    learnt = None
    for observation in seen:
        learnt = observe(learnt.record if learnt else None, observation)
    assert learnt is not None
    return learnt


def points(record: Record) -> list[float]:
    return [update.point_s for update in record.updates]


def test_the_first_document_is_a_history_since_its_oldest_item() -> None:
    learnt = learn(feed(T, ("b", T - HOUR), ("a", T - 5 * HOUR)))
    assert points(learnt.record) == [T - 5 * HOUR, T - HOUR]
    assert learnt.record.since_s == learnt.new_since_s == T - 5 * HOUR
    assert learnt.record.counted
    assert learnt.new_updates_s == (T - 5 * HOUR, T - HOUR)


def test_each_new_item_is_an_update_and_a_document_without_one_is_none() -> None:
    learnt = learn(feed(T, ("a", T - 9)), feed(T + HOUR, ("c", T + 20), ("b", T + 10), ("a", T - 9)))
    assert learnt.changed is True
    assert points(learnt.record) == [T - 9, T + 10, T + 20]
    learnt = observe(learnt.record, feed(T + 2 * HOUR, ("c", T + 20), ("b", T + 10)))
    assert learnt.changed is False
    assert learnt.new_updates_s == ()
    assert learnt.record.unchanged == 1


def test_an_undated_item_lies_after_the_last_validation() -> None:
    learnt = learn(feed(T, ("a", None)), unchanged(T + HOUR), feed(T + 2 * HOUR, ("b", None), ("a", None)))
    assert learnt.record.updates == (Update(T + HOUR, T + 2 * HOUR),)


def test_dated_and_undated_items_of_one_document_are_all_counted() -> None:
    learnt = learn(feed(T, ("a", None)), feed(T + HOUR, ("d", None), ("c", T + 600), ("b", None), ("a", None)))
    assert len(learnt.record.updates) == 3


def test_the_same_postings_in_two_variants_count_once() -> None:
    learnt = learn(
        feed(T, ("a", T - 9)), feed(T + 1, ("a", T - 9), variant="gzip"), feed(T + 60, ("b", T + 5), ("a", T - 9)),
        feed(T + 61, ("b", T + 5), ("a", T - 9), variant="gzip"),
    )  # fmt: skip
    assert points(learnt.record) == [T - 9, T + 5]


def test_the_same_observation_again_teaches_nothing() -> None:
    seen = feed(T + HOUR, ("b", None), ("a", None))
    learnt = learn(feed(T, ("a", None)), seen)
    assert not observe(learnt.record, seen).applied


def test_a_feed_that_turns_into_html_and_back_has_posted_nothing() -> None:
    learnt = learn(
        feed(T, ("a", T - 9)), page(T + 10, "<html>down"), page(T + 20, "<html>down"), page(T + 30, "<html>still down"),
        feed(T + 40, ("a", T - 9)), feed(T + 50, ("a", T - 9)),
    )  # fmt: skip
    assert points(learnt.record) == [T - 9, T + 25]  # the pages are compared among themselves
    learnt = observe(learnt.record, feed(T + 60, ("b", None), ("a", T - 9)))
    assert learnt.record.updates[-1] == Update(T + 50, T + 60)


def test_an_item_posted_while_a_page_stood_in_place_lies_after_the_last_document() -> None:
    learnt = learn(feed(T, ("a", None)), page(T + 10, "<html>"), feed(T + 20, ("b", None), ("a", None)))
    assert learnt.record.updates == (Update(T, T + 20),)


def test_a_304_to_a_validator_of_the_clients_is_no_page_in_place() -> None:
    """What it was about is the feed: as it is known, or in a version that was not seen."""
    first = replace(feed(T, ("a", None)), fingerprint=Fingerprint(etag='"1"', body="x"))
    same = Observation("http://x/feed", T + 10, "", Fingerprint(etag='"1"'))
    newer = Observation("http://x/feed", T + 20, "", Fingerprint(etag='"2"'))
    learnt = learn(first, same, newer)
    assert (learnt.changed, learnt.record.n_updates, learnt.record.unchanged) == (None, 0, 1)
    learnt = observe(learnt.record, feed(T + 30, ("b", None), ("a", None)))
    assert learnt.record.updates == (Update(T + 10, T + 30),)


def test_a_feed_that_is_gone_was_updated() -> None:
    learnt = learn(feed(T, ("a", T - 9)), page(T + 10, "", gone=True))
    assert learnt.changed is True


def test_an_object_that_becomes_a_feed_keeps_what_it_had_learnt() -> None:
    learnt = learn(page(T, "1"), page(T + HOUR, "2"), feed(T + 2 * HOUR, ("a", T + HOUR / 2), ("b", T - HOUR)))
    # The change that was known to lie in the first hour is the posting of that hour.
    assert learnt.record.updates == (Update(T - HOUR, T - HOUR), Update(T + HOUR / 2, T + HOUR / 2))
    assert learnt.record.since_s == T - HOUR


def test_of_more_items_than_are_kept_in_detail_the_older_are_counted_by_hours() -> None:
    learnt = learn(
        feed(T, *((f"{n}", T - HOUR * n) for n in range(1, 1001))),
        feed(T + 10 * HOUR, *((f"+{n}", T + n) for n in range(1, 101))),
    )
    assert len(learnt.record.updates) == DETAILED_UPDATES
    assert learnt.record.n_updates == 1100


def test_a_clock_that_runs_backwards_keeps_what_was_listed() -> None:
    record = learn(feed(T, ("a", T - 9)), feed(T + 10 * HOUR, ("b", T + 9 * HOUR), ("a", T - 9))).record
    back = until(record, T + HOUR).record
    assert points(back) == [T - 9]
    learnt = observe(back, feed(T + HOUR, ("b", T + 9 * HOUR), ("a", T - 9)))
    assert learnt.applied
    assert learnt.changed is False
    assert points(learnt.record) == [T - 9]


def test_the_one_undated_item_that_a_push_announced_is_at_its_time() -> None:
    first = feed(T, ("a", None))
    learnt = learn(first, feed(T + HOUR, ("b", None), ("a", None), announced_s=T + 60.0))
    assert learnt.record.updates == (Update(T + 60.0, T + 60.0),)
    learnt = learn(first, feed(T + HOUR, ("c", None), ("b", None), announced_s=T + 60.0))
    assert [update.exact for update in learnt.record.updates] == [False, False], "which of the two is not known"


def test_a_feed_that_lists_nothing_that_it_listed_before_may_have_lost_items() -> None:
    learnt = learn(feed(T, ("a", T - 9)), feed(T + HOUR, ("c", T + 60), ("b", T + 40)))
    assert learnt.record.unseen == ((T, T + 40),)
    learnt = learn(feed(T, ("a", T - 9)), feed(T + HOUR, ("b", T + 40), ("a", T - 9)))
    assert learnt.record.unseen == ()
