"""The backend in Redis or Valkey: a user's server or cluster, or the embedded server."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib.resources import files
from typing import Any, cast

from bestbefore.addon.clock import Clock
from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_groups import is_group
from bestbefore.addon.store.backend import codec, keys, scripts
from bestbefore.addon.store.backend.bodies import FILE_FROM_BYTES, BodyFiles, is_whole
from bestbefore.addon.store.backend.connection import Connection, Script, log, script
from bestbefore.addon.store.backend.indexes import CopyIndexes, variance_declared
from bestbefore.addon.store.backend.interface import (
    VARIANTS_KEPT,
    Body,
    CommandError,
    FullError,
    KeptCopy,
    LookUp,
    Put,
    StoreInputError,
    Tombstone,
    UnavailableError,
    UnwritableError,
)
from bestbefore.addon.store.backend.keeper_redis import RedisKeeper
from bestbefore.addon.store.backend.keys import variant_of
from bestbefore.addon.store.backend.migration import migrate
from bestbefore.addon.store.backend.redis_records import RedisRecords
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import count_of, is_mark, number_of, pass_on_tombstone
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.backup.learnt import RedisSavedState
from bestbefore.addon.store.cache.clock_check import ClockState
from bestbefore.addon.store.cache.faults import Faults, short
from bestbefore.addon.store.cache.tombstones import TOMBSTONES_AT_MOST, TOMBSTONES_KEPT_S
from bestbefore.addon.store.contacts.keeper import AskedLease
from bestbefore.addon.store.contacts.redis import RedisContacts, taking
from bestbefore.addon.store.packing import pack
from bestbefore.addon.store.replaced_channel import ReplacedChannel
from bestbefore.addon.store.sites.redis import RedisSites

THREAD_FROM_BYTES = 256 * 1024
"""The digests of bodies larger than this are checked in a thread."""
MEASURED_ALL, MEASURED_EVERY = 10_000, 100
"""The keys of a server with other data too whose size is asked for; of further ones one in so many."""


def _read_script(name: str, *types: str) -> Script:
    return script((files(scripts) / f"{name}.lua").read_text("utf-8"), *types)


_put = _read_script("put")
_remove = _read_script("remove", "hash", "hash", "string")
_add_tombstones = _read_script("tombstones", "zset", "string")
_last = _read_script("last", "string")
_take_sweep = _read_script("sweep")

_position = "local kept = redis.call('HGET', KEYS[1], ARGV[1]) or ''\nlocal same = redis.sha1hex(kept) == ARGV[2]\n"
_unless = script(_position + "if same then return false end\nreturn kept", "hash")
_swap = script(
    _position + "if same then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end\nreturn same and 1 or 0", "hash"
)


class RedisBackend(RedisRecords):
    """A `Backend` in Redis or Valkey; the keys are those of `keys`."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        clock_mark: str,
        forget_after_s: float,
        files: BodyFiles | None = None,
    ) -> None:
        """`files`: where large bodies are kept; None: in Redis too. `forget_after_s` is in policy time."""
        self._wire = connection
        faults = Faults(clock.monotonic)
        super().__init__(RepairingCommands(connection, faults), clock, faults, forget_after_s=forget_after_s)
        self._clock_mark = clock_mark
        self._files = files
        self._indexes = CopyIndexes(self._connection)
        self.keeper = RedisKeeper(self._connection, clock)
        self.sites = RedisSites(self._connection, clock, partial(faults.add, "unreadable"))
        self.contacts = RedisContacts(self._connection, self._known)
        self.replaced = ReplacedChannel(self._connection, is_shared=files is None)
        self.learnt = RedisSavedState(self._connection, self)
        self.closing = AsyncExitStack()
        """What is closed after the connection: the embedded server, if it is ours, and the state directory."""
        self._warned = False
        self.size_bytes: int | None = None

    # Life

    async def connect(
        self, on_tombstone: Callable[[Tombstone], None], on_lost: Callable[[UnavailableError], None]
    ) -> None:
        await self._wire.open()
        self._domains.clear()
        await self._check_store()
        if not self._warned:
            self._warned = True
            for warning in await self._wire.warnings():
                log.warning("store %s: %s", self._wire.shown, warning)
        pass_on = partial(pass_on_tombstone, on_tombstone, partial(self._readable, codec.decode_tombstone))
        received: Mapping[str, Callable[[bytes], None]] = {
            keys.CHANNEL: pass_on,
            keys.SITES_CHANNEL: self.sites.receive,
            keys.CONTACTS_CHANNEL: self.contacts.receive,
            keys.REPLACED_CHANNEL: self.replaced.receive,
        }
        await self._wire.listen(received, on_lost, beside=keys.TOMBSTONES)

    async def close(self) -> None:
        await self._wire.close()
        await self.closing.aclose()

    async def _check_store(self) -> None:
        """Raises StoreInputError if this store is of a newer version, or was used under another kind of clock."""
        where = f"store {self._wire.shown}"
        try:
            schema, clock = await self._connection.ask("HMGET", keys.STORE, "schema", "clock")
        except UnwritableError as e:
            raise StoreInputError(f"{where}: access is denied: {e}") from None
        # A mark is text; other values are corrupt.
        damaged = [n for n, mark in (("schema", schema), ("clock", clock)) if mark is not None and not is_mark(mark)]
        schema, clock = (mark if mark is not None and is_mark(mark) else None for mark in (schema, clock))
        if schema is not None and not (schema.isdigit() and int(schema) <= keys.SCHEMA):
            found = schema.decode()
            raise StoreInputError(
                f"{where}: written by a newer bestbefore (schema {found}; this one reads up to {keys.SCHEMA}): "
                "use that version, or another store"
            )
        if clock is not None and clock.decode() != self._clock_mark:
            found = clock.decode()
            raise StoreInputError(
                f"{where}: it was used with the clock {found!r}, and this process runs with the clock "
                f"{self._clock_mark!r} (BESTBEFORE_CLOCK): use another store"
            )
        if schema is None or clock is None or int(schema) < keys.SCHEMA:
            for name in damaged:
                self._faults.add("value", f"the mark {name} of {where} was not text: it is written again")
            try:
                if schema is None or int(schema) < keys.SCHEMA:  # also if the mark is missing: it may have been lost
                    if schema is not None:
                        log.info("%s: written by an earlier version; its keys get new names, once", where)
                    is_cluster = self._wire.is_cluster
                    moved = await migrate(
                        self._connection, self._versioned, self._commit_command, is_cluster=is_cluster
                    )
                    if any(moved):
                        what = "removed" if is_cluster else "renamed"
                        log.info("%s: %d histories were moved, %d keys of copies %s", where, *moved, what)
                await self._connection.ask_all([
                    *(("HDEL", keys.STORE, name) for name in damaged),
                    ("HSET", keys.STORE, "schema", keys.SCHEMA),
                    ("HSETNX", keys.STORE, "clock", self._clock_mark),
                ])
            except UnwritableError as e:  # no other write will succeed either, until the next connect
                raise UnavailableError(str(e)) from e

    # Copies

    async def copies(self, url: str) -> list[KeptCopy]:
        return await self._known(url, await self._connection.ask(*_variants(url)))

    async def look_up(self, url: str, *, copies: bool, lease: AskedLease | None = None) -> LookUp:
        declared = variance_declared(url)
        commands = [self._record_command(url), *([_variants(url)] if copies else []), *([declared] if declared else [])]
        lease_time_s = None
        if lease is not None:
            try:
                taken, *answers = await self._connection.ask_all([taking(lease), *commands])
                lease_time_s = int(taken) / 1000 if taken else None
            except UnwritableError:  # reading may be permitted
                answers = await self._connection.ask_all(commands)
        else:
            answers = await self._connection.ask_all(commands)
        (version, record), *found = answers
        known = await self._known(url, found[0]) if copies else None
        text = found[-1] if declared else None
        equivalent = None if text is None else await self._indexes.equivalent(url, text)
        return LookUp(self._versioned(version or b"", record or b""), known, equivalent, lease_time_s)

    async def _known(self, url: str, variants: Sequence[bytes]) -> list[KeptCopy]:
        """Decode the variants of a URL."""
        found = (self._readable(codec.decode_copy, v.split(b"|", 2)[-1]) for v in variants)
        known = [kept for kept in found if kept is not None and kept.copy.url == url]
        return await self._indexes.in_their_groups(url, known)

    async def equivalent(self, url: str) -> str | None:
        return await self._indexes.equivalent(url)

    async def dictionaries(self, origin: str) -> list[DictionaryCandidate]:
        return await self._indexes.dictionaries(origin)

    async def body(self, copy: Copy) -> Body | None:
        ref = copy.body
        if self._is_file(ref):
            found, damaged = await asyncio.to_thread(self._files.read, ref)  # type: ignore[union-attr]
            if damaged:
                self._damaged(copy)
            return cast("Body | None", found)
        name = keys.of_object(copy.url, "bodies")[0]
        body: bytes | None = await self._connection.ask("HGET", name, ref.digest)
        if body is None:
            return None
        whole = is_whole(ref, body) if ref.size < THREAD_FROM_BYTES else await asyncio.to_thread(is_whole, ref, body)
        if whole:
            return body
        self._damaged(copy)
        await self._connection.ask("HDEL", name, ref.digest)
        return None

    async def use(self, bodies: Sequence[BodyRef]) -> None:
        in_files = [ref for ref in bodies if self._is_file(ref)]
        if self._files is not None and in_files:
            await asyncio.to_thread(self._files.use, in_files)

    def _damaged(self, copy: Copy) -> None:
        self._faults.add("body", f"content of {short(copy.url)} in the store is corrupt: it was removed")

    def _is_file(self, ref: BodyRef) -> bool:
        return self._files is not None and ref.size > FILE_FROM_BYTES

    async def put(self, puts: Sequence[Put], applied: int = 0) -> None:
        commands = []
        for put in puts:
            copy, body, where = put.copy, put.body, "kept"
            if self._is_file(copy.body):
                where = "elsewhere"
                if body is not None:
                    await self._write_file(copy.body, body)
            elif body is not None:
                where = "given"
                if isinstance(body, UnlinkedFile):
                    body = await asyncio.to_thread(body.read_all)
            commands.append(
                _put(
                    keys.of_object(copy.url, "copies", "bodies", "tombstone"),
                    [
                        variant_of(copy),
                        copy.body.digest,
                        repr(copy.stored_s),
                        # the numbers are read by put.lua and remove.lua
                        pack(
                            codec.encode_copy(copy, **({"applied": applied} if applied else {})),
                            copy.response_time_s,
                            applied or 0,
                        ),
                        max(1, int(put.ttl_s * 1000)),
                        VARIANTS_KEPT,
                        repr(copy.response_time_s),
                        repr(self._clock.now()),
                        applied,
                        where,
                        *([body] if where == "given" else []),
                    ],
                )
            )
        await self._indexes.add(puts)
        replaced = await self._connection.ask_all(commands, is_lasting=True)
        if self._files is not None:  # of complete copies, which may be about to be sent, the sweep removes the files
            parts = [digest.decode() for put, digest in zip(puts, replaced, strict=True) if put.copy.part_number]
            if parts:
                await asyncio.to_thread(self._files.remove, parts)

    async def _write_file(self, ref: BodyRef, body: bytes | UnlinkedFile) -> None:
        try:
            await asyncio.to_thread(self._files.write, ref, body)  # type: ignore[union-attr]
        except OSError as e:
            if e.errno in (errno.EINVAL, errno.ENAMETOOLONG):  # the error concerns only this file
                raise CommandError(f"a body cannot be written: {e}") from e
            raise FullError(f"a body cannot be written: {e}") from e

    async def remove(self, urls: Sequence[str], tombstone: Tombstone) -> int:
        return await self._remove_copies([self._removal(url, tombstone, keeps=False) for url in urls])

    async def _remove_copies(self, removals: Sequence[Sequence[Any]]) -> int:
        """Remove the copies of objects, and their files; return how many objects had any."""
        answers = await self._connection.ask_all(removals, is_lasting=True)
        digests = [digest.decode(errors="replace") for _, *gone in answers for digest in gone]
        if self._files is not None and digests:
            await asyncio.to_thread(self._files.remove, digests)
        return sum(removed > 0 for removed, *_ in answers)

    def _removal(self, url: str, tombstone: Tombstone, *, keeps: bool) -> list[Any]:
        """Return the command for a removal. `keeps`: store the tombstone too, so that no earlier copy comes later."""
        return _remove(
            keys.of_object(url, "copies", "bodies", "tombstone"),
            [tombstone.number, repr(tombstone.time_s), self._real_ms(TOMBSTONES_KEPT_S) if keeps else 0],
        )

    # Tombstones

    async def add_tombstones(self, tombstones: Sequence[Tombstone], applied: int = 0) -> list[Tombstone]:
        if not tombstones:
            return []
        now_s = self._clock.now()
        bounds = [repr(now_s - TOMBSTONES_KEPT_S), repr(now_s + TOMBSTONES_KEPT_S), TOMBSTONES_AT_MOST]
        encoded = [codec.encode_tombstone(t) for t in tombstones]
        added = _add_tombstones([keys.TOMBSTONES, keys.LAST_TOMBSTONE], [keys.CHANNEL, *bounds, applied, *encoded])
        numbered = [codec.decode_tombstone(t) for t in (await self._connection.ask_all([added], is_lasting=True))[0]]
        await self._remove_copies([self._removal(t.pattern, t, keeps=True) for t in numbered if t.exact])
        for tombstone in numbered:
            if tombstone.exact and is_group(tombstone.pattern):
                await self._remove_members(tombstone)
        return numbered

    async def _remove_members(self, tombstone: Tombstone) -> None:
        """Remove the copies of all URLs in the group of a tombstone; no earlier copy may come later."""
        for urls in await self._indexes.members(tombstone.pattern):
            await self._remove_copies([self._removal(url, tombstone, keeps=True) for url in urls])
            await self._indexes.leave(tombstone.pattern, urls)

    async def last_tombstone(self) -> int:
        return int(await self._connection.ask(*_last([keys.LAST_TOMBSTONE], [])))

    async def tombstones(self) -> list[Tombstone]:
        found = await self._connection.ask("ZRANGE", keys.TOMBSTONES, 0, -1)
        readable = (self._readable(codec.decode_tombstone, encoded) for encoded in found)
        return [t for t in readable if t is not None]

    # Sweeps

    async def copied(self) -> AsyncIterator[list[str]]:
        async for part in self._connection.scan(keys.every("copies")):
            yield [url for url in (keys.name_in(name, "copies") for name in part) if url is not None]

    async def clock_state(self) -> ClockState | None:
        found = await self._connection.ask("HMGET", keys.SWEEP, "looked_s", "steady_s")
        looked_s, steady_s = map(number_of, found)
        return None if looked_s is None or steady_s is None else ClockState(looked_s, steady_s)

    async def put_clock_state(self, state: ClockState) -> None:
        await self._connection.ask(
            "HSET", keys.SWEEP, "looked_s", repr(state.checked_at_s), "steady_s", repr(state.steady_since_s)
        )

    async def position(self, channel: str) -> bytes | None:
        found: bytes | None = await self._connection.ask("HGET", keys.POSITIONS, channel)
        return found

    async def put_position(self, channel: str, position: bytes) -> None:
        await self._connection.ask("HSET", keys.POSITIONS, channel, position)

    async def position_unless(self, channel: str, digest: str) -> bytes | None:
        found: bytes | None = await self._connection.ask(*_unless([keys.POSITIONS], [channel, digest]))
        return found

    async def swap_position(self, channel: str, digest: str, position: bytes) -> bool:
        return bool(await self._connection.ask(*_swap([keys.POSITIONS], [channel, digest, position])))

    async def take_sweep(self, interval_s: float) -> bool:
        if self._files is not None:  # the server is this proxy's own
            return True
        taken, *size = await self._connection.ask(*_take_sweep([keys.SWEEP], [int(interval_s * 1000)]))
        if not taken:
            self._domains.clear()
            self.size_bytes = count_of(size[0]) or None
        return bool(taken)

    async def tidy(self) -> None:
        self._domains.clear()  # so that a domain that is missing in the set is added again
        if self._files is not None:
            found = await asyncio.to_thread(self._files.list)
            referred_to: set[str] = set()
            async for part in self._connection.scan(keys.every("copies")):
                part = [name for name in part if keys.name_in(name, "copies") is not None]
                for variants in await self._connection.ask_all([("HVALS", name) for name in part]):
                    referred_to.update(v.split(b"|", 1)[0].decode(errors="replace") for v in variants)
            freed = await asyncio.to_thread(self._files.sweep, found, referred_to)
            log.debug("removed %d bytes of bodies that nothing refers to", freed)
            self.size_bytes = (await self._connection.ask("INFO", "memory"))["used_memory"]
        else:  # the server may have other data too
            seen, size_bytes = 0, 0
            async for part in self._connection.scan("bb1:*"):
                every = 1 if seen < MEASURED_ALL else MEASURED_EVERY
                measured = part[-seen % every :: every]
                sizes = await self._connection.ask_all([("MEMORY", "USAGE", key) for key in measured])
                size_bytes += every * sum(size or 0 for size in sizes)
                seen += len(part)
            self.size_bytes = size_bytes
            await self._connection.ask("HSET", keys.SWEEP, "size_bytes", size_bytes)

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        return self._faults.counts


def _variants(url: str) -> tuple[str, str]:
    return "HVALS", keys.of_object(url, "copies")[0]
