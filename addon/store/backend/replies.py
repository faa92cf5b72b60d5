"""Readers for a server's answers, which may be anything: what this store does not write is left out."""

import math
from collections.abc import Callable
from typing import Any

from bestbefore.addon.store.backend.connection import pairs
from bestbefore.addon.store.backend.interface import Tombstone

LARGEST = 10**12
"""What counts and their hours stay far below."""


def text_of(raw: bytes) -> str | None:
    """Text; None for bytes that are none."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def number_of(raw: Any) -> float | None:
    """A finite number; None for what is none."""
    try:
        number = float(raw)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def count_of(raw: Any) -> int:
    """A count: a whole number of at least 0, which what is none counts as."""
    return max(0, int(number_of(raw) or 0))


def counts_of(flat: Any) -> dict[int, int]:
    """Counts by whole numbers, such as hours."""
    counts = {}
    for key, n in pairs(flat):
        try:
            hour, number = int(key), int(n)
        except ValueError:
            continue
        if abs(hour) < LARGEST and abs(number) < LARGEST:
            counts[hour] = number
    return counts


def pass_on_tombstone(
    on_tombstone: Callable[[Tombstone], None], decode: Callable[[bytes], Tombstone | None], encoded: bytes
) -> None:
    """Pass on a tombstone that was published; what cannot be read is none."""
    tombstone = decode(encoded)
    if tombstone is not None:
        on_tombstone(tombstone)
