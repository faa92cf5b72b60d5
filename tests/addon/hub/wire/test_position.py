"""The order of messages, and the position as it is kept."""

from typing import Any

import pytest

from bestbefore.addon.hub.wire.message import Beat, Message
from bestbefore.addon.hub.wire.position import MessageOrder, ReadPosition, decode, encode, order, place_of

READING = ReadPosition("name", "10-0", "hub", (5, 7), 3)


def message(**known: Any) -> Message:
    usual = {"publisher": "hub", "epoch": 5, "number": 8, "after": (5, 7)}
    return Message(site="all", time_s=0.0, content=Beat(0.0, ()), **(usual | known))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, MessageOrder.NEXT),
        ({"number": 7, "after": (5, 6)}, MessageOrder.REPLAYED),
        ({"number": 3, "after": (5, 2)}, MessageOrder.REPLAYED),
        ({"epoch": 4, "number": 99, "after": (4, 98)}, MessageOrder.REPLAYED),
        ({"number": 9, "after": (5, 8)}, MessageOrder.GAP),
        ({"epoch": 6, "number": 1, "after": (5, 7)}, MessageOrder.NEXT),
        ({"epoch": 6, "number": 1, "after": (5, 8)}, MessageOrder.GAP),
        ({"epoch": 6, "number": 2, "after": (6, 1)}, MessageOrder.GAP),
        ({"publisher": "other"}, MessageOrder.FIRST),
    ],
)
def test_the_numbers_tell_what_is_missing(known: dict[str, Any], expected: MessageOrder) -> None:
    assert order(message(**known), READING) is expected


def test_places_order_as_ids_do() -> None:
    ids = ["0-0", "9-5", "10-0", "10-1", "1795399012000-0", "1795399012000-7"]
    assert [place_of(one) for one in ids] == sorted(place_of(one) for one in ids)
    assert len({place_of(one) for one in ids}) == len(ids)


def test_a_position_is_kept_for_its_channel_alone() -> None:
    assert decode(encode(READING), "name") == READING
    assert decode(encode(READING), "other") is None
    assert decode(None, "name") is None
    assert decode(b"\xff", "name") is None
