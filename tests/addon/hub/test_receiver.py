"""Messages that are refused, and what the loss of messages means."""

from typing import Any

import pytest

from bestbefore.addon.hub.receiver import Receiver, RefusedMessage
from bestbefore.addon.hub.wire.channel import StreamEntry
from bestbefore.addon.hub.wire.message import PIECE_BYTES, Beat, Content, Message, Object, encode, pieces
from bestbefore.addon.hub.wire.position import ReadPosition, place_of
from bestbefore.addon.hub.wire.signature import sign

NOW_S = 1000.0
KEY = b"0123456789abcdef0123456789abcdef"
BEAT = Beat(NOW_S, ())


def receiver(**known: Any) -> Receiver:
    usual = {"entry": "1-0", "publisher": "hub", "last": (5, 7), "since": 3}
    return Receiver(KEY, "all", ReadPosition(channel="name", **(usual | known)), 1 << 20)


def entry(content: Content, number: int = 8, *, key: bytes = KEY, **known: Any) -> StreamEntry:
    usual = {"publisher": "hub", "site": "all", "epoch": 5, "after": (5, number - 1), "time_s": NOW_S}
    message = encode(Message(number=number, content=content, **(usual | known)))
    return StreamEntry(f"{number}0-0", message, sign(key, message))


def test_messages_in_order_are_used() -> None:
    reader = receiver()
    for number in (8, 9):
        received = reader.receive(entry(BEAT, number), NOW_S)
        assert (received.content, received.refused, received.lost) == (BEAT, None, False)
    assert reader.settled == reader.position
    assert (reader.position.last, reader.position.since, reader.position.entry) == ((5, 9), 3, "90-0")
    assert received.channel == "hub/all"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (entry(BEAT, key=KEY[::-1]), RefusedMessage.SIGNATURE),
        (entry(BEAT)._replace(message=entry(BEAT).message[:-1]), RefusedMessage.SIGNATURE),
        (entry(BEAT)._replace(signature=b""), RefusedMessage.SIGNATURE),
        (StreamEntry("2-0", b"\x01x", sign(KEY, b"\x01x")), RefusedMessage.MALFORMED),
        (entry(BEAT, site="other"), RefusedMessage.SITE),
        (entry(BEAT, 7), RefusedMessage.REPLAYED),
        (entry(BEAT, 9, epoch=4), RefusedMessage.REPLAYED),
        (entry(BEAT, time_s=NOW_S + 3600.0), RefusedMessage.CLOCK),
    ],
)
def test_others_are_refused_by_name(sent: StreamEntry, reason: RefusedMessage) -> None:
    received = receiver().receive(sent, NOW_S)
    assert (received.content, received.refused) == (None, reason)


def test_a_replay_does_not_move_the_reader() -> None:
    reader = receiver()
    first = entry(BEAT)
    reader.receive(first, NOW_S)
    assert reader.receive(first._replace(id="85-0"), NOW_S).refused is RefusedMessage.REPLAYED
    assert not reader.receive(entry(BEAT, 9), NOW_S).lost


@pytest.mark.parametrize("known", [{"after": (5, 9)}, {"epoch": 6, "after": (5, 8)}])
def test_after_a_loss_everything_before_is_uncertain(known: dict[str, Any]) -> None:
    reader = receiver()
    sent = entry(BEAT, 10, **known)
    assert reader.receive(sent, NOW_S).lost
    assert reader.position.since == place_of(sent.id)


def test_the_hub_may_restart_without_a_loss() -> None:
    reader = receiver()
    assert not reader.receive(entry(BEAT, 1, epoch=6, after=(5, 7)), NOW_S).lost
    assert reader.position.since == 3


def test_another_publisher_starts_anew_and_says_nothing_of_what_was_read() -> None:
    reader = receiver()
    received = reader.receive(entry(BEAT, publisher="other"), NOW_S)
    assert (received.lost, received.channel) == (False, "other/all")
    assert reader.position.since == place_of("80-0")


def test_a_position_is_settled_only_between_objects() -> None:
    reader, carried = receiver(), Object(b"copy", b"x" * 2 * PIECE_BYTES, (), None)
    found = pieces(carried)
    before = reader.settled
    for number, piece in enumerate(found[:-1], 8):
        assert reader.receive(entry(piece, number), NOW_S).content is None
        assert reader.settled == before
    received = reader.receive(entry(found[-1], 7 + len(found)), NOW_S)
    assert (received.content, received.place) == (carried, place_of("80-0"))  # the place of the first piece
    assert reader.settled == reader.position


def test_pieces_of_an_object_that_began_before_are_left_out() -> None:
    reader, found = receiver(), pieces(Object(b"copy", b"x" * 2 * PIECE_BYTES, (), None))
    received = reader.receive(entry(found[1], 20, after=(5, 19)), NOW_S)
    assert (received.content, received.refused, reader.is_broken) == (None, None, False)


def test_a_signed_message_that_cannot_be_read_ends_all_trust() -> None:
    reader, found = receiver(), pieces(Object(b"copy", b"x" * 2 * PIECE_BYTES, (), None))
    reader.receive(entry(found[0]), NOW_S)
    wrong = type(found[1])(b"other", 1, len(found), b"")
    assert reader.receive(entry(wrong, 9), NOW_S).refused is RefusedMessage.MALFORMED
    assert reader.is_broken
