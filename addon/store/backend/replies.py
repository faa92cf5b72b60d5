"""Parsers of a server's replies, which may be corrupt: values that this store does not write are skipped."""

import math
from collections.abc import Callable
from typing import Any

from bestbefore.addon.store.backend.connection import pairs
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates

LARGEST = 10**15
"""A bound far above valid counts and hours."""


def text_of(raw: bytes) -> str | None:
    """Decode text; None if it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def number_of(raw: Any) -> float | None:
    """Parse a finite number; None if malformed."""
    try:
        number = float(raw)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def count_of(raw: Any) -> int:
    """Parse a count, a whole number of at least 0; 0 if malformed."""
    return max(0, int(number_of(raw) or 0))


def counts_of(flat: Any) -> dict[int, int]:
    """Parse counts by whole numbers, such as hours."""
    counts = {}
    for key, n in pairs(flat):
        try:
            hour, number = int(key), int(n)
        except ValueError:
            continue
        if abs(hour) < LARGEST and abs(number) < LARGEST:
            counts[hour] = number
    return counts


def rates_of(flat: Any) -> MemberRates:
    """Parse the sum of the rates of members; that of no members if malformed."""
    fields = dict(pairs(flat))
    try:
        return MemberRates(int(fields[b"members"]), int(fields.get(b"micronats", 0)))
    except (KeyError, ValueError):
        return NO_RATES


def is_mark(raw: bytes) -> bool:
    """Whether a value is text, as the marks of a store are."""
    return raw.isascii() and raw.decode().isprintable()


def pass_on_tombstone(
    on_tombstone: Callable[[Tombstone], None], decode: Callable[[bytes], Tombstone | None], encoded: bytes
) -> None:
    """Decode a published tombstone and pass it on; ignore malformed ones."""
    tombstone = decode(encoded)
    if tombstone is not None:
        on_tombstone(tombstone)
