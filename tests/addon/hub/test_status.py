"""The state of a queue as it is reported."""

from collections.abc import Callable

import pytest

from bestbefore.addon.hub.catalogue import Catalogue
from bestbefore.addon.hub.queue import Queue
from bestbefore.addon.hub.status import notices, status_of
from bestbefore.addon.hub.wire.subscription import Subscription
from bestbefore.addon.rfc9111.copy import Copy

NOW_S = 1_706_300_000.0


def test_it_tells_who_waits_for_what(make_copy: Callable[..., Copy], subscribe: Callable[..., Subscription]) -> None:
    queue = Queue("pop", Catalogue({}), vouch_s=1e9)
    for path in "ab":
        queue.catalogue.refreshed(f"http://example.org/{path}", [make_copy("1", path=path)], NOW_S)
    both, one = subscribe("both", "*", "nothing.example"), subscribe("one", "example.org/a")
    queue.rebuild([both, one], NOW_S)
    item = queue.catalogue.items[0]
    assert item.offer is not None
    queue.catalogue.has_sent(item, item.offer, 10, NOW_S)
    status = status_of(queue, NOW_S, 1000)
    assert (status["objects"], status["waiting"], status["waiting_bytes"]) == (2, 1, 100)
    assert (status["scheduler"], status["client_freshness"]) == ("pop", 0.75)
    assert status["data_freshness"] == pytest.approx(2 / 3)
    assert (status["client_age_s"], status["data_age_s"]) == (0.0, 0.0)
    assert [(found["name"], found["objects"], found["waiting"]) for found in status["subscribers"]] == [
        ("both", 2, 1), ("one", 1, 0),
    ]  # fmt: skip
    assert notices(status, "both") == [
        "the hub has no object that nothing.example matches",
        "* matches everything that the hub may send: 2 objects now",
    ]
    assert notices(status, "one") == []
    assert notices(status, "unknown") == []


def test_a_change_that_waits_has_an_age(make_copy: Callable[..., Copy], subscribe: Callable[..., Subscription]) -> None:
    queue = Queue("gain", Catalogue({}), vouch_s=1e9)
    for path in "ab":
        queue.catalogue.refreshed(f"http://example.org/{path}", [make_copy("1", path=path)], NOW_S)
    queue.rebuild([subscribe("one")], NOW_S)
    for place, item in enumerate(queue.catalogue.items):
        assert item.offer is not None
        queue.catalogue.has_sent(item, item.offer, 10 + place, NOW_S)
    queue.catalogue.refreshed("http://example.org/a", [make_copy("2", path="a")], NOW_S + 1.0)
    status = status_of(queue, NOW_S + 7.0, 1000)
    assert (status["client_freshness"], status["client_age_s"], status["data_age_s"]) == (0.5, 3.0, 3.0)


def test_without_subscribers_everything_is_fresh() -> None:
    status = status_of(Queue("rq", Catalogue({}), vouch_s=1.0), NOW_S, 1000)
    assert (status["client_freshness"], status["data_freshness"], status["announced_until_s"]) == (1.0, 1.0, NOW_S)
