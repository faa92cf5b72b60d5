"""What a hub has, what was sent of it, and what must be taken back."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bestbefore.addon.hub.catalogue import Catalogue, CatalogueItem, Need, Offered, Sent, decode_sent, encode_sent
from bestbefore.addon.rfc9111.copy import Copy

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"
LONG_AGO = NOW_S - 1e9
type Make = Callable[..., Copy]


def with_one(copy: Copy) -> tuple[Catalogue, CatalogueItem]:
    """A catalogue with one object, which was sent as the copy is."""
    catalogue = Catalogue({})
    assert catalogue.refreshed(URL, [copy], NOW_S)
    (item,) = catalogue.items
    catalogue.has_sent(item, Offered.of(copy), 5, NOW_S)
    return catalogue, item


def test_what_was_never_sent_is_needed_whole(make_copy: Make) -> None:
    catalogue = Catalogue({})
    assert catalogue.refreshed(URL, [make_copy()], NOW_S)
    assert [item.need(LONG_AGO) for item in catalogue.items] == [Need.ALL]
    assert not catalogue.refreshed(URL, [make_copy()], NOW_S)  # no new item


def test_a_change_is_needed_and_holds_the_heartbeat_back_until_it_is_sent(make_copy: Make) -> None:
    catalogue, item = with_one(make_copy("1"))
    assert item.need(LONG_AGO) is Need.NOTHING
    assert catalogue.announced_until_s(NOW_S + 9.0) == NOW_S + 9.0
    catalogue.refreshed(URL, [make_copy("2")], NOW_S + 1.0)
    catalogue.refreshed(URL, [make_copy("3")], NOW_S + 2.0)
    assert item.need(LONG_AGO) is Need.ALL
    assert catalogue.announced_until_s(NOW_S + 9.0) == NOW_S + 1.0
    catalogue.has_sent(item, Offered.of(make_copy("3")), 6, NOW_S + 3.0)
    assert catalogue.announced_until_s(NOW_S + 9.0) == NOW_S + 9.0


def test_what_changed_while_it_was_sent_is_needed_again(make_copy: Make) -> None:
    catalogue, item = with_one(make_copy("1"))
    catalogue.refreshed(URL, [make_copy("2")], NOW_S + 1.0)
    offer = item.offer
    assert offer is not None
    catalogue.refreshed(URL, [make_copy("3")], NOW_S + 2.0)
    catalogue.has_sent(item, offer, 6, NOW_S + 3.0)
    assert item.need(LONG_AGO) is Need.ALL
    assert catalogue.announced_until_s(NOW_S + 9.0) == NOW_S + 3.0


def test_a_validation_sends_the_head_where_there_is_a_lifetime(make_copy: Make) -> None:
    lifetime = ("Cache-Control", "max-age=60")
    catalogue, item = with_one(make_copy("1", lifetime))
    catalogue.refreshed(URL, [make_copy("1", lifetime, at_s=NOW_S + 60.0)], NOW_S + 60.0)
    assert item.need(LONG_AGO) is Need.HEAD
    assert catalogue.announced_until_s(NOW_S + 90.0) == NOW_S + 90.0  # what edges hold is current
    catalogue, item = with_one(make_copy("1"))
    catalogue.refreshed(URL, [make_copy("1", at_s=NOW_S + 60.0)], NOW_S + 60.0)
    assert item.need(LONG_AGO) is Need.NOTHING


@pytest.mark.parametrize("why", ["waits", "gone", "not-contacted"])
def test_objects_are_taken_back_once(make_copy: Make, why: str) -> None:
    catalogue, item = with_one(make_copy("1"))
    copies = {"waits": [make_copy("2")], "gone": [], "not-contacted": [make_copy("1")]}[why]
    catalogue.refreshed(URL, copies, NOW_S + 1.0)
    later_s = NOW_S + (1001.0 if why == "not-contacted" else 11.0)
    early = catalogue.to_take(NOW_S + 1.5, 10.0, 1000.0)
    assert early == ([item] if why == "gone" else [])
    assert catalogue.to_take(later_s, 10.0, 1000.0) == [item]
    catalogue.has_taken(item, 7)
    assert catalogue.to_take(later_s, 10.0, 1000.0) == []
    assert catalogue.announced_until_s(later_s) == later_s
    assert item.need(later_s - 1000.0) is (Need.ALL if why == "waits" else Need.NOTHING)


def test_what_was_taken_back_returns_by_its_head_after_a_contact(make_copy: Make) -> None:
    catalogue, item = with_one(make_copy("1"))
    catalogue.has_taken(item, 7)
    catalogue.refreshed(URL, [make_copy("1", at_s=NOW_S + 2000.0)], NOW_S + 2000.0)
    assert item.need(NOW_S + 1000.0) is Need.HEAD


def test_an_edge_misses_what_was_sent_before_it_began_to_read(make_copy: Make) -> None:
    _, item = with_one(make_copy("1"))
    assert not item.is_missing(since=5)
    assert item.is_missing(since=6)


def test_what_was_sent_before_a_restart_is_known(make_copy: Make) -> None:
    first, item = with_one(make_copy("1"))
    assert item.sent is not None
    again = Catalogue({item.key: item.sent})
    again.refreshed(URL, [make_copy("2")], NOW_S + 1.0)
    assert again.announced_until_s(NOW_S + 9.0) == NOW_S + 1.0
    first.keep(lambda target: False)
    assert (first.items, first.past) == ([], {item.key: item.sent})
    assert first.refreshed(URL, [make_copy("1")], NOW_S)
    assert first.items[0].need(LONG_AGO) is Need.NOTHING


def test_variants_are_items_of_their_own(make_copy: Make) -> None:
    catalogue = Catalogue({})
    gzip = make_copy("1", selecting=(("accept-encoding", "gzip"),))
    catalogue.refreshed(URL, [gzip, replace(gzip, selecting=(("accept-encoding", None),))], NOW_S)
    assert len(catalogue.items) == 2
    assert len({item.key for item in catalogue.items}) == 2


def test_what_was_sent_is_encoded_without_its_place() -> None:
    sent = Sent(9, "content", "renewal", is_taken=True)
    assert decode_sent(9, encode_sent(sent)) == sent
    assert decode_sent(9, b"\xff") is None
