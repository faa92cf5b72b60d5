"""The entries of a backup."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec


class Header(msgspec.Struct, array_like=True, frozen=True):
    """The first entry."""

    schema: int
    """The layout of the keys (`keys.SCHEMA`)."""
    clock: str
    """The kind of clock of the store, as in its mark."""
    time_s: float
    """When it was written, policy time."""


class SavedRecord(msgspec.Struct, array_like=True, tag="record", frozen=True):
    """The record of an object. The counts of its group are not in the backup: they are the sums of its members."""

    encoded: bytes


class SavedKey(msgspec.Struct, array_like=True, tag="key", frozen=True):
    """A key with all that it holds, other than records and their counts."""

    name: str
    live_ms: int
    """How long it was still to live, real time; -1: for ever."""
    items: tuple[bytes, ...]
    """Fields and values of a hash, members and scores of a sorted set, the elements of a list."""


type Entry = SavedRecord | SavedKey


class SavedState(Protocol):
    """The part of a backend for backups."""

    def keys(self) -> AsyncIterator[SavedKey]:
        """Yield all that was learnt except records, each key as it is at that moment. Raises UnavailableError."""

    async def restore(self, entries: Sequence[Entry]) -> tuple[int, int]:
        """Add what the backend does not know, or knows less of; return how many records and keys were changed.

        An object's record is written unless the backend has a later one. Raises UnavailableError, UnwritableError;
        ValueError for an entry that `learnt.check` refuses, before anything of `entries` is written.
        """
