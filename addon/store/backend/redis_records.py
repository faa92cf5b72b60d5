"""The records of objects in Redis or Valkey, each written together with the change of the counts."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend import codec, keys, scripts
from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.interface import Commit, GroupCounts, Versioned
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.backend.redis_counts import RedisCounts
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import number_of
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.gains import NO_COUNTS
from bestbefore.addon.store.packing import pack
from bestbefore.policies.units import DAY_S

PROVISIONAL_S = 7 * DAY_S
"""How long the record of an object that was contacted once is kept."""

_commit = script((files(scripts) / "commit.lua").read_text("utf-8"), "", "set", "hash")


class RedisRecords(RedisCounts):
    """The base class of `redis.RedisBackend` for records."""

    def __init__(self, commands: RepairingCommands, clock: Clock, faults: Faults, *, forget_after_s: float) -> None:
        """`forget_after_s` is in policy time."""
        super().__init__(commands, clock, forget_after_s=forget_after_s)
        self._faults = faults
        """The corrupt values found."""

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        found = await self._connection.ask_all([self._record_command(url) for url in urls])
        return [self._versioned(version or b"", record or b"") for version, record in found]

    def _record_command(self, url: str) -> Sequence[Any]:
        """Return the command whose reply is the version and the encoded record of an object."""
        return "HMGET", keys.of_record(url)[0], "v", "b"

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        await self.join_domains({keys.domain_of(host_of(c.url)) for c in commits if c.record})
        answers = await self._connection.ask_all([self._commit_command(c) for c in commits], is_lasting=True)
        return [new if done else self._versioned(new, *record) for done, new, *record in answers]

    def _versioned(self, version: bytes, record: bytes) -> Versioned:
        """Decode a record. An undecodable one counts as missing, and is replaced at the next observation."""
        return Versioned(version, self._readable(codec.decode_record, record) if record else None, _number_of(version))

    def _readable[T](self, decode: Callable[[bytes], T], encoded: bytes) -> T | None:
        try:
            return decode(encoded)
        except codec.UnreadableError as e:
            self._faults.add("value", str(e))
            return None

    def _commit_command(self, commit: Commit, version: bytes = b"", live_ms: int | None = None) -> list[Any]:
        """Return the command for a commit. `version`, `live_ms`: of a migrated record; default: new ones."""
        record, gains = commit.record, {label: gain for label, gain in commit.gains.items() if gain != NO_COUNTS}
        if live_ms is None:
            live_ms = self._real_ms(PROVISIONAL_S if record and record.provisional else 0.0)
        return _commit(
            keys.of_record(commit.url, *gains)[: None if gains else 1],
            [
                commit.expected,
                pack(codec.encode_record(record)) if record else b"",
                repr(record.last_contact_s) if record else "0",
                live_ms,
                version,
                *_arguments_of(gains),
            ],
        )

    async def recorded(self) -> AsyncIterator[list[tuple[str, float]]]:
        async for part in self._connection.scan(keys.every("record")):
            named = [(name, url) for name in part if (url := keys.name_in(name, "record")) is not None]
            times = await self._connection.ask_all([("HGET", name, "t") for name, _ in named])
            # An undecodable time counts as oldest; the record itself then decides.
            yield [(url, number_of(t) or 0.0) for (_, url), t in zip(named, times, strict=True) if t is not None]


def _number_of(version: bytes) -> int:
    """Return the server's time in microseconds at which a version was written; 0 if it is not of this store."""
    seconds, _, microseconds = version.rstrip(b"+").partition(b".")
    return int(seconds) * 1_000_000 + int(microseconds) if seconds.isdigit() and microseconds.isdigit() else 0


def _arguments_of(gains: Mapping[str, GroupCounts]) -> list[Any]:
    """Return changes of counts by label as arguments of commit.lua."""
    arguments: list[Any] = []
    for label, gain in gains.items():
        arguments.append(label)
        changed = {name: change for name, change in gain.rates._asdict().items() if change}
        for counts in (gain.updates, gain.starts, changed):
            arguments += [len(counts), *(value for pair in counts.items() for value in pair)]
    return arguments
