"""What a backup contains of a Redis or Valkey: all that was learnt, and no content.

Records are saved as records. When they are restored, the counts of their groups change in the same script as ever, so
that counts and records agree however many proxies write meanwhile. All else are small keys, which are saved one by one:
requests by object, the demand for copies, what was learnt of sites and of stale shares, the candidates for prefetching,
the budget spent, and positions in channels. What has a short life or belongs to processes is left out.
"""

from collections.abc import AsyncIterator, Sequence
from importlib.resources import files
from itertools import batched
from typing import Protocol

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend import codec, keys
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.interface import Commit, Versioned
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backup.entries import Entry, SavedKey, SavedRecord
from bestbefore.addon.store.cache.gains import loss_of, share_of, total_by_label

AS_A_WHOLE = frozenset(("siblings", "changes", "stale"))
"""Kinds of keys whose fields belong together: they are restored where the store has none."""
BY_MEMBER = frozenset(("requests", "wanted", "demand", "candidates", "positions", "troubles", "spent", "received"))
"""Other kinds: what the store has of them stays, and what it lacks is added."""
BATCH = 200
TRIES = 10

_read = {
    "hash": ("HGETALL",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "list": ("LRANGE", 0, -1),
}


class Records(Protocol):
    """The part of a backend that keeps records."""

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        """Return the records of these objects, in order."""

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        """Write each record whose version is as expected, together with the change of the counts."""

    async def join_domains(self, domains: set[str]) -> None:
        """Add registrable domains to the set of those with data."""


_restore = (files("bestbefore.addon.store.backup") / "restore.lua").read_text("utf-8")
_restore_as = {name: script(_restore, name) for name in _read}


class RedisSavedState:
    """A `SavedState` of a Redis or Valkey."""

    def __init__(self, commands: RepairingCommands, records: Records) -> None:
        self._connection = commands
        self._records = records

    async def keys(self) -> AsyncIterator[SavedKey]:
        seen = set[bytes]()
        async for part in self._connection.scan("bb1:*"):
            saved = [(raw, type_) for raw in part if raw not in seen and (type_ := _saved_type(raw)) is not None]
            seen.update(raw for raw, _ in saved)
            for some in batched(saved, BATCH):
                commands = [[_read[type_][0], raw, *_read[type_][1:]] for raw, type_ in some]
                found = await self._connection.ask_all(commands)
                lives_ms = await self._connection.ask_all([("PTTL", raw) for raw, _ in some])
                for (raw, type_), items, live_ms in zip(some, found, lives_ms, strict=True):
                    if items and live_ms != 0:
                        flat = [one for pair in pairs(items) for one in pair] if type_ != "list" else items
                        yield SavedKey(raw.decode(), max(live_ms, -1), tuple(map(_bytes, flat)))

    async def restore(self, entries: Sequence[Entry]) -> tuple[int, int]:
        for entry in entries:
            check(entry)
        records = [codec.decode_record(entry.encoded) for entry in entries if isinstance(entry, SavedRecord)]
        saved = [entry for entry in entries if isinstance(entry, SavedKey)]
        types = [_saved_type(entry.name.encode()) for entry in saved]
        changed = await self._restore_records(records)
        named = (keys.name_of_domain(entry.name.encode()) for entry in saved)
        await self._records.join_domains({domain for domain in named if domain is not None})
        answers = await self._connection.ask_all([
            _restore_as[type_]([entry.name], [type_, _whole(entry.name), entry.live_ms, *entry.items])
            for entry, type_ in zip(saved, types, strict=True)
            if type_ is not None
        ])
        return changed, sum(map(int, answers))

    async def _restore_records(self, records: list[Record]) -> int:
        written = 0
        for _ in range(TRIES):  # a proxy may write one between reading and writing it
            found = await self._records.records([record.url for record in records])
            commits = [
                _commit(record, known)
                for record, known in zip(records, found, strict=True)
                if known.record is None or known.record.last_contact_s < record.last_contact_s
            ]
            answers = await self._records.commit(commits)
            lost = {one.url for one, answer in zip(commits, answers, strict=True) if isinstance(answer, Versioned)}
            written += len(commits) - len(lost)
            records = [record for record in records if record.url in lost]
            if not records:
                break
        return written


def check(entry: Entry) -> bool:
    """Return True. Raises ValueError for an entry that this version does not write."""
    if isinstance(entry, SavedRecord):
        codec.decode_record(entry.encoded)
        return True
    type_ = _saved_type(entry.name.encode())
    if type_ is None or (type_ != "list" and len(entry.items) % 2):
        raise ValueError(f"it has {entry.name!r}, which this version does not save")
    return True


def _commit(record: Record, known: Versioned) -> Commit:
    before = {} if known.record is None else {keys.label_of(known.record): loss_of(known.record)}
    gains = total_by_label([before, {keys.label_of(record): share_of(record)}])
    return Commit(record.url, known.version, record, gains)


def _saved_type(raw: bytes) -> str | None:
    """Return the type of a key that is saved; None for others."""
    kind = keys.kind_of(raw)
    return keys.type_of(raw.decode()) if kind in AS_A_WHOLE or kind in BY_MEMBER else None


def _whole(name: str) -> int:
    return int(keys.kind_of(name.encode()) in AS_A_WHOLE)


def _bytes(value: bytes | float) -> bytes:
    return value if isinstance(value, bytes) else repr(value).encode()
