"""A candidate for prefetching as it is stored: what a schedule needs of it, so that it starts without all records."""

from typing import NamedTuple

import msgspec

from bestbefore.policies.models.clockwork.beats import Clockwork, is_valid


class Candidate(NamedTuple):
    """The estimate of an object as of its last contact, and the demand for it."""

    rate_per_hour: float
    """The expected updates."""
    contact_s: float
    """When the object was last contacted, policy time."""
    requests: int
    """How often clients asked for it in the last days that count."""
    hours: bytes
    """(24,) the rates of the UTC hours, relative to each other."""
    weekend_share: float
    """The share of updates on Saturdays and Sundays."""
    asked_from: tuple[str, ...] = ()
    """The ranges of private addresses from which clients have requested it."""
    due_s: float | None = None
    """When it was due next at the price of its last contact, policy time, for display; None: unknown."""
    clockwork: Clockwork | None = None
    """The beats at which the object changes; None if it does not change like clockwork."""
    expected_bytes: float = 0.0
    """How many bytes a fetch is expected to receive, where a budget limits them; else 0."""


HOURS = 24

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Candidate)


def encode(candidate: Candidate) -> bytes:
    return _encoder.encode(candidate)


def decode(encoded: bytes) -> Candidate:
    """Decode a candidate. Raises ValueError for data that this version does not write."""
    try:
        found = _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise ValueError(f"a stored candidate cannot be read: {e}") from None
    if not (0.0 <= found.rate_per_hour < 1e9 and 0.0 <= found.weekend_share <= 1.0 and abs(found.contact_s) < 1e12):
        raise ValueError("a stored candidate cannot be read: a number is out of its range")
    if len(found.hours) != HOURS or not any(found.hours) or not 0 <= found.requests < 1e15:
        raise ValueError("a stored candidate cannot be read: it has no pattern of a day, or no number of requests")
    if found.clockwork is not None and not is_valid(found.clockwork):
        raise ValueError("a stored candidate cannot be read: its beats are not in order")
    return found

