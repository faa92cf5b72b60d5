"""How far an edge has read a channel, and how a message follows what was read."""

from enum import Enum

import msgspec

from bestbefore.addon.hub.wire.message import Message


class ReadPosition(msgspec.Struct, frozen=True, array_like=True):
    """A position in a channel, as the edge's store keeps it."""

    channel: str
    """The server and the site; another channel is read from its end on."""
    entry: str
    """The id of the last entry that was read."""
    publisher: str
    """That of the last message; empty before the first."""
    last: tuple[int, int]
    """Epoch and number of the last message."""
    since: int
    """The first place from which on every message was read."""


class MessageOrder(Enum):
    """How a message follows the last one that was read."""

    NEXT = "next"
    FIRST = "first"
    """None of this publisher was read before."""
    REPLAYED = "replayed"
    """It was read before, or was sent before one that was read."""
    GAP = "gap"
    """Messages between them are missing."""


def order(message: Message, position: ReadPosition) -> MessageOrder:
    """Return how a message follows what was read."""
    if message.publisher != position.publisher:
        return MessageOrder.FIRST
    if (message.epoch, message.number) <= position.last:
        return MessageOrder.REPLAYED
    return MessageOrder.NEXT if message.after == position.last else MessageOrder.GAP


def place_of(entry: str) -> int:
    """Return the place of an entry in its stream, which orders as the ids do: milliseconds and a number."""
    milliseconds, _, number = entry.partition("-")
    return int(milliseconds) << 20 | min(int(number or 0), (1 << 20) - 1)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ReadPosition)


def encode(position: ReadPosition) -> bytes:
    """Encode a position."""
    return _encoder.encode(position)


def decode(encoded: bytes | None, channel: str) -> ReadPosition | None:
    """Decode a position; None if there is none of this channel."""
    if encoded is None:
        return None
    try:
        found = _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.channel == channel else None
