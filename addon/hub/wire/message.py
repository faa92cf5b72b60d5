"""The messages of a channel and their encoding.

A message is an envelope around one of four contents. Its version is the first byte, so that a later form is refused by
name, not as damage.
"""

import hashlib
from collections.abc import Iterator

import msgspec

VERSION = b"\x01"
PIECE_BYTES = 32 * 1024
"""How much of an object one message carries: a heartbeat waits for no longer message."""


class MalformedMessageError(ValueError):
    """A message that cannot be decoded."""


class Piece(msgspec.Struct, frozen=True, tag="piece", array_like=True):
    """A part of an encoded object."""

    digest: bytes
    """Of the whole encoded object."""
    number: int
    """From 0."""
    count: int
    data: bytes


class Taken(msgspec.Struct, frozen=True, tag="taken", array_like=True):
    """A notice: the hub no longer vouches for the copies of these objects."""

    urls: tuple[str, ...]


class Beat(msgspec.Struct, frozen=True, tag="beat", array_like=True):
    """A heartbeat."""

    announced_until_s: float
    """All changes that the hub knew at this time have been sent, or taken back by a notice."""
    leases: tuple[bytes, ...]
    """The subscriptions for which the hub sends (`Subscription.token`)."""


class Complete(msgspec.Struct, frozen=True, tag="complete", array_like=True):
    """What a downloader asked for has been sent."""

    lease: bytes
    objects: int


type Content = Piece | Taken | Beat | Complete


class Message(msgspec.Struct, frozen=True, array_like=True):
    """A message of one publisher."""

    publisher: str
    site: str
    epoch: int
    """Begins with each start of a publisher, and is higher than the last."""
    number: int
    """From 1 in each epoch, without gaps."""
    after: tuple[int, int]
    """Epoch and number of the message before it."""
    time_s: float
    content: Content

    @property
    def channel(self) -> str:
        """The name of the channel and its publisher, with which copies are marked."""
        return f"{self.publisher}/{self.site}"


class Object(msgspec.Struct, frozen=True, array_like=True):
    """A copy with its history, as it is cut into pieces."""

    copy: bytes
    """As the store encodes it."""
    body: bytes | None
    """None: the content is that which the edge has."""
    updates_s: tuple[float, ...]
    """The latest updates of the object, ascending; none that is not known exactly."""
    since_s: float | None
    """From when on they are all updates; None: no history."""
    history: str = ""
    """All that is known, as a value of Update-History, where that is more. Earlier versions have no such field."""


_encoder = msgspec.msgpack.Encoder()
_messages = msgspec.msgpack.Decoder(Message)
_objects = msgspec.msgpack.Decoder(Object)


def encode(message: Message) -> bytes:
    """Encode a message."""
    return VERSION + _encoder.encode(message)


def decode(encoded: bytes) -> Message:
    """Decode a message. Raises MalformedMessageError."""
    if encoded[:1] != VERSION:
        raise MalformedMessageError(f"it has the version {encoded[:1].hex() or 'of nothing'}, not {VERSION.hex()}")
    try:
        return _messages.decode(encoded[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessageError(str(error)) from None


def pieces(carried: Object) -> list[Piece]:
    """Cut an object into pieces."""
    encoded = _encoder.encode(carried)
    digest = digest_of(encoded)
    starts = range(0, len(encoded), PIECE_BYTES)
    return [
        Piece(digest, number, len(starts), encoded[start : start + PIECE_BYTES]) for number, start in enumerate(starts)
    ]


def digest_of(encoded: bytes) -> bytes:
    """Return the digest of an encoded object."""
    return hashlib.blake2b(encoded, digest_size=16).digest()


class Assembly:
    """Puts the pieces of objects together. The pieces of one object follow each other, so one is held at a time."""

    def __init__(self, most_bytes: int) -> None:
        """`most_bytes`: the largest object that is held."""
        self._most = -(-most_bytes // PIECE_BYTES) + 1
        self._digest = b""
        self._pieces: list[bytes] = []

    @property
    def is_open(self) -> bool:
        """Whether further pieces of an object are awaited."""
        return bool(self._pieces)

    def clear(self) -> None:
        """Drop what is held: further pieces are missing."""
        self._pieces = []

    def add(self, piece: Piece) -> Object | None:
        """Add a piece; return the object if it is complete. Raises MalformedMessageError, and drops what it held."""
        if piece.number == 0:
            self._digest, self._pieces = piece.digest, []
        held = self._pieces
        if piece.digest != self._digest or piece.number != len(held) or not piece.number < piece.count <= self._most:
            self.clear()
            raise MalformedMessageError(f"piece {piece.number} of {piece.count} does not continue what came before it")
        held.append(piece.data)
        if len(held) < piece.count:
            return None
        encoded = b"".join(held)
        self.clear()
        if digest_of(encoded) != piece.digest:
            raise MalformedMessageError("its pieces are not those of one object")
        try:
            return _objects.decode(encoded)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedMessageError(str(error)) from None


def batches(urls: list[str], most_bytes: int = PIECE_BYTES) -> Iterator[tuple[str, ...]]:
    """Yield URLs in batches of bounded size, for notices."""
    batch: list[str] = []
    size = 0
    for url in urls:
        if batch and size + len(url) > most_bytes:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(url)
        size += len(url)
    if batch:
        yield tuple(batch)
