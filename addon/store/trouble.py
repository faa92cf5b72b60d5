"""Why a watched object could not be fetched, as it is stored."""

from typing import NamedTuple

import msgspec


class Trouble(NamedTuple):
    """The result of the last attempt to fetch a watched object, which brought nothing."""

    what: str
    """A reason of the proxy's own, or `status` and what the origin answered."""
    at_s: float
    """Policy time."""
    failures: int = 1
    """How many attempts in a row have failed."""
    again_s: float | None = None
    """When it may be tried again, policy time; None: never, or an earlier version wrote this."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Trouble)


def encode(trouble: Trouble) -> bytes:
    return _encoder.encode(trouble)


def decode(encoded: bytes) -> Trouble:
    """Decode a trouble. Raises ValueError for data that this version does not write."""
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise ValueError(f"a stored trouble cannot be read: {e}") from None
