"""Verifies the messages of a channel, keeps their order, and puts objects together. Pure: time is an argument."""

from enum import StrEnum
from typing import NamedTuple

from msgspec.structs import replace

from bestbefore.addon.hub.wire.channel import StreamEntry
from bestbefore.addon.hub.wire.message import (
    Assembly,
    Beat,
    Complete,
    MalformedMessageError,
    Message,
    Object,
    Piece,
    Taken,
    decode,
)
from bestbefore.addon.hub.wire.position import MessageOrder, ReadPosition, order, place_of
from bestbefore.addon.hub.wire.signature import is_signed
from bestbefore.addon.rfc9111.caching.reuse import CLOCK_TOLERANCE_S


class RefusedMessage(StrEnum):
    """The reason why a message is not used, for metrics."""

    SIGNATURE = "signature"
    """It is not signed with the key, or damaged."""
    MALFORMED = "malformed"
    SITE = "site"
    """It was sent on another channel."""
    CLOCK = "clock"
    """It is from the future: the clocks of hub and edge differ."""
    REPLAYED = "replayed"
    UNFIT = "unfit"
    """Not every client may have its copy."""


class Received(NamedTuple):
    """What an entry brought."""

    content: Object | Taken | Beat | Complete | None
    """None: nothing to use, or not yet."""
    place: int
    """That of its first message."""
    channel: str = ""
    """The name of channel and publisher."""
    lost: bool = False
    """Whether messages before it are missing."""
    refused: RefusedMessage | None = None


class Receiver:
    """Reads one channel from a position on."""

    def __init__(self, key: bytes, site: str, position: ReadPosition, most_bytes: int) -> None:
        """`most_bytes`: the largest object that is put together."""
        self._key = key
        self._site = site
        self.position = position
        """The position after the last entry."""
        self.settled = position
        """The last position at which no object was incomplete."""
        self.is_broken = False
        """Whether the hub sends what this version cannot read, so that its heartbeats prove nothing."""
        self._assembly = Assembly(most_bytes)
        self._first = 0
        """The place of the first piece of the object that is being put together."""

    def receive(self, entry: StreamEntry, now_s: float) -> Received:
        """Return what the next entry brings."""
        place = place_of(entry.id)
        self.position = replace(self.position, entry=entry.id)
        if not is_signed(self._key, entry.message, entry.signature):
            return Received(None, place, refused=RefusedMessage.SIGNATURE)
        try:
            message = decode(entry.message)
        except MalformedMessageError:
            self.is_broken = True
            return Received(None, place, refused=RefusedMessage.MALFORMED)
        if message.site != self._site:
            return Received(None, place, refused=RefusedMessage.SITE)
        follows = order(message, self.position)
        if follows is MessageOrder.REPLAYED:
            return Received(None, place, refused=RefusedMessage.REPLAYED)
        since = self.position.since if follows is MessageOrder.NEXT else place
        if follows is not MessageOrder.NEXT:
            self._assembly.clear()
        self.position = replace(
            self.position, publisher=message.publisher, last=(message.epoch, message.number), since=since
        )
        received = self._content(message, place)._replace(lost=follows is MessageOrder.GAP, channel=message.channel)
        if not self._assembly.is_open:
            self.settled = self.position
        if message.time_s > now_s + CLOCK_TOLERANCE_S:
            return received._replace(content=None, refused=RefusedMessage.CLOCK)
        return received

    def _content(self, message: Message, place: int) -> Received:
        content = message.content
        if not isinstance(content, Piece):
            return Received(content, place)
        if content.number == 0:
            self._first = place
        elif not self._assembly.is_open:  # it began before this reader did; the hub knows that, and sends it again
            return Received(None, place)
        try:
            return Received(self._assembly.add(content), self._first)
        except MalformedMessageError:
            self.is_broken = True
            return Received(None, place, refused=RefusedMessage.MALFORMED)
