"""Subscriptions: what an edge asks a hub for."""

import hashlib
from enum import StrEnum
from functools import lru_cache

import msgspec

from bestbefore.addon.hub.wire.signature import is_signed, sign
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import Pattern


class SubscriberKind(StrEnum):
    """How long an edge wants objects."""

    SUBSCRIBER = "subscriber"
    """It wants each change, until it leaves."""
    DOWNLOADER = "downloader"
    """It wants one copy of each object, and leaves."""


class Subscription(msgspec.Struct, frozen=True, array_like=True):
    """A subscription, as it is kept in the channel while its lease lasts."""

    name: str
    site: str
    kind: SubscriberKind
    patterns: tuple[str, ...]
    since: int
    """The place in the stream from which on the edge has read everything."""
    holder: str
    """The process that renews it."""

    @property
    def token(self) -> bytes:
        """A short digest, by which a heartbeat names it."""
        return hashlib.blake2b(_encoder.encode(self), digest_size=8).digest()

    def is_wanted(self, target: Target) -> bool:
        """Whether a pattern matches an object."""
        return any(matches(pattern, target) for pattern in self.patterns)


def matches(pattern: str, target: Target) -> bool:
    """Whether a pattern matches an object. Raises ValueError for a malformed one."""
    parsed = _parsed(pattern)
    return parsed.host.matches(target.host) and parsed.matches_path(target.path)


@lru_cache(4096)
def _parsed(pattern: str) -> Pattern:
    return Pattern.parse(pattern)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Subscription)


def encode(subscription: Subscription, key: bytes) -> bytes:
    """Encode and sign a subscription."""
    encoded = _encoder.encode(subscription)
    return sign(key, encoded) + encoded


def decode(signed: bytes, key: bytes) -> Subscription | None:
    """Decode a subscription; None if it is not signed with the key, or malformed."""
    signature, encoded = signed[:32], signed[32:]
    if not is_signed(key, encoded, signature):
        return None
    try:
        found = _decoder.decode(encoded)
        for pattern in found.patterns:
            _parsed(pattern)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found
