"""Who waits for what, with each scheduler."""

from collections.abc import Callable

import pytest

from bestbefore.addon.hub.catalogue import Catalogue, Need, Offered
from bestbefore.addon.hub.queue import Queue
from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.policies.dissemination.table import SCHEDULERS

NOW_S = 1_706_300_000.0
type Make = Callable[..., Copy]
type Subscribe = Callable[..., Subscription]


def filled(make_copy: Make, paths: str, scheduler: str = "rq") -> Queue:
    """A queue of objects that were never sent."""
    queue = Queue(scheduler, Catalogue({}), vouch_s=1e9)
    for path in paths:
        queue.catalogue.refreshed(f"http://example.org/{path}", [make_copy("1", path=path)], NOW_S)
    return queue


def send_all(queue: Queue, first_place: int = 10) -> list[tuple[str, Need]]:
    """Send what is chosen until no subscriber waits."""
    sent = []
    while (chosen := queue.choose(NOW_S)) is not None:
        item, need = chosen
        sent.append((item.target.path, need))
        assert item.offer is not None
        assert len(sent) < 100
        queue.catalogue.has_sent(item, item.offer, first_place + len(sent), NOW_S)
        queue.sent(item, NOW_S)
    return sent


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_each_scheduler_sends_everything_that_is_wanted_once(
    make_copy: Make, subscribe: Subscribe, scheduler: str
) -> None:
    queue = filled(make_copy, "abcd", scheduler)
    queue.rebuild([subscribe("one", "example.org/a", "example.org/b"), subscribe("two", "example.org/b*")], NOW_S)
    assert sorted(send_all(queue)) == [("/a", Need.ALL), ("/b", Need.ALL)]
    for path in "abc":
        url = f"http://example.org/{path}"
        queue.catalogue.refreshed(url, [make_copy("2", path=path)], NOW_S + 1.0)
        for item in queue.catalogue.of_url(url):
            queue.changed(item, NOW_S + 1.0)
    assert sorted(send_all(queue)) == [("/a", Need.ALL), ("/b", Need.ALL)]


@pytest.mark.parametrize("scheduler", ["rxc", "gain"])
def test_what_is_learnt_of_the_intervals_counts_at_once(make_copy: Make, subscribe: Subscribe, scheduler: str) -> None:
    queue = filled(make_copy, "ab", scheduler)
    queue.rebuild([subscribe("one")], NOW_S)
    send_all(queue)
    for first, second in ("ab", "ba"):
        for path, interval_s in ((first, 60.0), (second, 3600.0)):
            url = f"http://example.org/{path}"
            queue.catalogue.refreshed(url, [make_copy(f"2{first}", path=path)], NOW_S, interval_s)
            for item in queue.catalogue.of_url(url):
                queue.changed(item, NOW_S)
        assert [path for path, _ in send_all(queue)] == [f"/{second}", f"/{first}"]


def test_a_new_subscriber_waits_for_what_was_sent_before_it_came(make_copy: Make, subscribe: Subscribe) -> None:
    queue = filled(make_copy, "ab")
    first = subscribe("one")
    queue.rebuild([first], NOW_S)
    send_all(queue)
    late = subscribe("two", "example.org/a", since=100)
    queue.rebuild([first, late], NOW_S)
    assert queue.waiting(late, NOW_S)[1:] == (1, 1, 100, (1,), (NOW_S,))
    assert queue.waiting(first, NOW_S).waiting == 0
    assert send_all(queue, first_place=100) == [("/a", Need.ALL)]


def test_a_head_is_sent_to_those_that_have_the_content(make_copy: Make, subscribe: Subscribe) -> None:
    queue = filled(make_copy, "a")
    queue.rebuild([subscribe()], NOW_S)
    send_all(queue)
    (item,) = queue.catalogue.items
    queue.catalogue.has_taken(item, 50)
    queue.catalogue.refreshed(item.target.url, [make_copy("1", path="a", at_s=NOW_S + 5.0)], NOW_S + 5.0)
    queue.changed(item, NOW_S + 5.0)
    assert send_all(queue) == [("/a", Need.HEAD)]


def test_a_downloader_is_complete_when_it_was_sent_everything(make_copy: Make, subscribe: Subscribe) -> None:
    queue = filled(make_copy, "abc")
    downloader = subscribe("one", "example.org/a", "example.org/b", kind=SubscriberKind.DOWNLOADER)
    queue.rebuild([downloader], NOW_S)
    assert queue.complete() == []
    assert sorted(path for path, _ in send_all(queue)) == ["/a", "/b"]
    assert queue.complete() == [downloader]
    nothing = subscribe("two", "example.com", kind=SubscriberKind.DOWNLOADER)
    queue.rebuild([nothing], NOW_S)
    assert queue.complete() == [nothing]


def test_what_is_gone_is_not_sent(make_copy: Make, subscribe: Subscribe) -> None:
    queue = filled(make_copy, "ab")
    queue.rebuild([subscribe()], NOW_S)
    queue.catalogue.refreshed("http://example.org/a", [], NOW_S)
    assert [path for path, _ in send_all(queue)] == ["/b"]
    assert queue.waiting_items(NOW_S) == []


def test_items_that_the_scheduler_does_not_know_wait_for_the_next_one(make_copy: Make, subscribe: Subscribe) -> None:
    queue = filled(make_copy, "a")
    queue.rebuild([subscribe()], NOW_S)
    queue.catalogue.refreshed("http://example.org/b", [make_copy("1", path="b")], NOW_S)
    queue.changed(queue.catalogue.items[1], NOW_S)
    assert [path for path, _ in send_all(queue)] == ["/a"]
    queue.rebuild(queue.subscriptions, NOW_S)
    assert [path for path, _ in send_all(queue)] == ["/b"]


def test_an_offer_is_its_content_and_its_renewal(make_copy: Make) -> None:
    plain, later = Offered.of(make_copy()), Offered.of(make_copy(at_s=NOW_S + 1.0))
    assert (plain.content, plain.renewal) == (later.content, later.renewal)
    assert Offered.of(make_copy("2")).content != plain.content


@pytest.mark.parametrize("scheduler", ["gain", "rxc"])
def test_what_changes_rarely_comes_first_for_rules_that_know_of_it(
    make_copy: Make, subscribe: Subscribe, scheduler: str
) -> None:
    queue = Queue(scheduler, Catalogue({}), vouch_s=1e9)
    for path, interval_s in (("often", 60.0), ("rarely", 6000.0), ("daily", 600.0)):
        queue.catalogue.refreshed(f"http://example.org/{path}", [make_copy("1", path=path)], NOW_S, interval_s)
    queue.rebuild([subscribe()], NOW_S)
    assert [path for path, _ in send_all(queue)] == ["/rarely", "/daily", "/often"]


def test_small_objects_come_first_by_gain(make_copy: Make, subscribe: Subscribe) -> None:
    queue = Queue("gain", Catalogue({}), vouch_s=1e9)
    for path, size in (("large", 1_000_000), ("small", 1000)):
        copy = make_copy("1", path=path, body=BodyRef(path, size))
        queue.catalogue.refreshed(f"http://example.org/{path}", [copy], NOW_S)
    queue.rebuild([subscribe()], NOW_S)
    assert [path for path, _ in send_all(queue)] == ["/small", "/large"]
