"""The store in Redis or Valkey: the user's own server, a cluster of them, or the embedded one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from bestbefore.addon.clock import Clock
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.store import codec, keys
from bestbefore.addon.store.bodies import FILE_FROM_BYTES, BodyFiles
from bestbefore.addon.store.connection import Connection, log, pairs, script
from bestbefore.addon.store.interface import (
    VARIANTS_KEPT,
    AwayError,
    Body,
    Commit,
    FullError,
    GroupCounts,
    Put,
    StoreInputError,
    Tombstone,
    UnwritableError,
    Versioned,
)
from bestbefore.addon.store.keeper_redis import RedisKeeper
from bestbefore.addon.store.keys import Keys, host_of, variant_of
from bestbefore.addon.store.tombstones import TOMBSTONES_AT_MOST, TOMBSTONES_KEPT_S

REQUESTS_KEPT = 5_000
"""Of how many objects of a registrable domain the requests are counted."""
PROVISIONAL_S = 7 * 86_400.0
"""How long an object that was seen once is remembered."""

_folder = files("bestbefore.addon.store")
_commit, _put, _remove = (script((_folder / f"{name}.lua").read_text("utf-8")) for name in ("commit", "put", "remove"))
_mark = script("""
redis.call('HSETNX', KEYS[1], 'schema', ARGV[1])
redis.call('HSETNX', KEYS[1], 'clock', ARGV[2])
return 1""")


class RedisBackend:
    """See `interface.Backend`; the keys are those of `keys.Keys`."""

    def __init__(
        self,
        connection: Connection,
        names: Keys,
        clock: Clock,
        *,
        clock_mark: str,
        forget_after_s: float,
        files: BodyFiles | None = None,
    ) -> None:
        """`files`: where large bodies are kept; None: in Redis too. `forget_after_s` is in policy time."""
        self._connection = connection
        self._names = names
        self._clock = clock
        self._clock_mark = clock_mark
        self._forget_after_s = forget_after_s
        self._files = files
        self.keeper = RedisKeeper(connection, names, clock)
        self._domains: set[str] = set()
        self._warned = False
        self._size_bytes: int | None = None

    # Life

    async def connect(self, heard: Callable[[Tombstone], None], lost: Callable[[AwayError], None]) -> None:
        await self._connection.open()
        self._domains.clear()
        await self._check_store()
        if not self._warned:
            self._warned = True
            for warning in await self._connection.warnings():
                log.warning("store %s: %s", self._connection.shown, warning)
        await self._connection.listen(keys.CHANNEL, partial(_hear, heard), lost)

    async def close(self) -> None:
        await self._connection.close()

    async def _check_store(self) -> None:
        """Raises StoreInputError if this store is of a newer version, or was used under another kind of clock."""
        where = f"store {self._connection.shown}"
        try:
            schema, clock = await self._connection.ask("HMGET", keys.STORE, "schema", "clock")
        except UnwritableError as e:
            raise StoreInputError(f"{where}: we may not use it: {e}") from None
        if schema is not None and not (schema.isdigit() and int(schema) <= keys.SCHEMA):
            found = schema.decode(errors="replace")
            raise StoreInputError(
                f"{where}: written by a newer bestbefore (schema {found}; this one reads up to {keys.SCHEMA}): "
                "use that version, or another store"
            )
        if clock is not None and clock.decode(errors="replace") != self._clock_mark:
            found = clock.decode(errors="replace")
            raise StoreInputError(
                f"{where}: its times are those of a clock marked {found!r}, and this process runs under one marked "
                f"{self._clock_mark!r} (BESTBEFORE_CLOCK): use another store"
            )
        if schema is None or clock is None:
            try:
                await self._connection.ask(*_mark([keys.STORE], [keys.SCHEMA, self._clock_mark]))
            except UnwritableError as e:  # nothing else will be written either, until it is connected to anew
                raise AwayError(str(e)) from e

    # Histories

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        found = await self._connection.ask_all(
            [("HMGET", *self._names.of_url(url, "record"), "v", "b") for url in urls]
        )
        return [_versioned(version or b"", record or b"") for version, record in found]

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        await self._join_domains({self._names.domain(host_of(c.url)) for c in commits if c.record})
        answers = await self._connection.ask_all([self._commit_command(c) for c in commits])
        return [new if done else _versioned(new, *record) for done, new, *record in answers]

    def _commit_command(self, commit: Commit) -> list[Any]:
        url, record = commit.url, commit.record
        host = host_of(url)
        live_s = PROVISIONAL_S if record and record.provisional else 0.0
        return _commit(
            [
                *self._names.of_url(url, "record"),
                self._names.of_domain(self._names.domain(host), "hosts"),
                self._names.of_host(host, "updates"),
                self._names.of_host(host, "starts"),
            ],
            [
                commit.expected,
                codec.encode_record(record) if record else b"",
                repr(record.last_contact_s) if record else "0",
                self._real_ms(live_s),
                host,
                *_flat(commit.gain.updates),
                *_flat(commit.gain.starts),
            ],
        )

    # Copies

    async def copies(self, url: str) -> list[Copy]:
        variants = await self._connection.ask("HVALS", *self._names.of_url(url, "copies"))
        found = (_readable(codec.decode_copy, v.split(b"|", 2)[-1]) for v in variants)
        return [copy for copy in found if copy is not None and copy.url == url]

    async def body(self, copy: Copy) -> Body | None:
        if self._is_file(copy.body):
            return await asyncio.to_thread(self._files.read, copy.body)  # type: ignore[union-attr]
        body: bytes | None = await self._connection.ask(
            "HGET", *self._names.of_url(copy.url, "bodies"), copy.body.digest
        )
        return body if body is not None and len(body) == copy.body.size else None

    def _is_file(self, ref: BodyRef) -> bool:
        return self._files is not None and ref.size > FILE_FROM_BYTES

    async def put(self, puts: Sequence[Put]) -> None:
        await self._join_domains({self._names.domain(host_of(p.copy.url)) for p in puts})
        commands = []
        for put in puts:
            copy, body, where = put.copy, put.body, "kept"
            if self._is_file(copy.body):
                where = "elsewhere"
                if body is not None:
                    await self._write_file(copy.body, body)
            elif body is not None:
                where = "given"
            commands.append(
                _put(
                    self._names.of_url(copy.url, "copies", "bodies", "buried"),
                    [
                        variant_of(copy),
                        copy.body.digest,
                        repr(copy.stored_s),
                        codec.encode_copy(copy),
                        max(1, int(put.ttl_s * 1000)),
                        VARIANTS_KEPT,
                        repr(copy.response_time_s),
                        repr(self._clock.now()),
                        where,
                        *([body] if where == "given" else []),
                    ],
                )
            )
        await self._connection.ask_all(commands)

    async def _write_file(self, ref: BodyRef, body: bytes) -> None:
        try:
            await asyncio.to_thread(self._files.write, ref, body)  # type: ignore[union-attr]
        except OSError as e:
            raise FullError(f"a body cannot be written: {e}") from e

    async def remove(self, urls: Sequence[str], until_s: float) -> int:
        removed = await self._connection.ask_all([self._removal(url, until_s, tombstone=False) for url in urls])
        return sum(n > 0 for n in removed)

    def _removal(self, url: str, until_s: float, *, tombstone: bool) -> list[Any]:
        return _remove(
            self._names.of_url(url, "copies", "bodies", "buried"),
            [repr(until_s), self._real_ms(TOMBSTONES_KEPT_S) if tombstone else 0],
        )

    # Tombstones

    async def bury(self, tombstones: Sequence[Tombstone]) -> None:
        commands: list[Sequence[Any]] = [
            self._removal(t.pattern, t.time_s, tombstone=True) for t in tombstones if t.exact
        ]
        for tombstone in tombstones:
            encoded = codec.encode_tombstone(tombstone)
            commands.append(("ZADD", keys.TOMBSTONES, repr(tombstone.time_s), encoded))
            commands.append(("PUBLISH", keys.CHANNEL, encoded))
        now_s = self._clock.now()
        commands.append(("ZREMRANGEBYSCORE", keys.TOMBSTONES, "-inf", repr(now_s - TOMBSTONES_KEPT_S)))
        commands.append(("ZREMRANGEBYSCORE", keys.TOMBSTONES, repr(now_s + TOMBSTONES_KEPT_S), "+inf"))
        commands.append(("ZREMRANGEBYRANK", keys.TOMBSTONES, 0, -TOMBSTONES_AT_MOST - 1))
        await self._connection.ask_all(commands)

    async def tombstones(self) -> list[Tombstone]:
        found = await self._connection.ask("ZRANGE", keys.TOMBSTONES, 0, -1)
        return [t for t in (_readable(codec.decode_tombstone, encoded) for encoded in found) if t is not None]

    # Counts

    async def hosts(self, domain: str | None) -> list[str]:
        domains = await self._all_domains() if domain is None else [domain]
        found = await self._connection.ask_all([("SMEMBERS", self._names.of_domain(d, "hosts")) for d in domains])
        return [host.decode() for hosts in found for host in hosts]

    async def host_counts(self, hosts: Sequence[str]) -> list[GroupCounts]:
        names = [self._names.of_host(host, kind) for host in hosts for kind in ("updates", "starts")]
        found = [_counted(counts) for counts in await self._connection.ask_all([("HGETALL", name) for name in names])]
        return [GroupCounts(*pair) for pair in zip(found[::2], found[1::2], strict=True)]

    async def tally(self, requests: Mapping[str, int]) -> None:
        commands: list[Sequence[Any]] = [("ZINCRBY", self._requests_key(url), n, url) for url, n in requests.items()]
        domains = {self._names.domain(host_of(url)) for url in requests}
        for domain in domains:
            name = self._names.of_domain(domain, "requests")
            commands.append(("ZREMRANGEBYRANK", name, 0, -REQUESTS_KEPT - 1))
            commands.append(("PEXPIRE", name, self._real_ms(self._forget_after_s)))
        await self._join_domains(domains)
        await self._connection.ask_all(commands)

    async def top(self, n: int) -> list[tuple[str, int]]:
        names = [self._names.of_domain(domain, "requests") for domain in await self._all_domains()]
        found = await self._connection.ask_all([("ZREVRANGE", name, 0, n - 1, "WITHSCORES") for name in names])
        counted = [(url.decode(), int(score)) for part in found for url, score in pairs(part)]
        return sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:n]

    async def requested(self) -> AsyncIterator[list[str]]:
        for domain in await self._all_domains():
            found = await self._connection.ask("ZRANGE", self._names.of_domain(domain, "requests"), 0, -1)
            yield [url.decode() for url in found]

    async def uncount(self, urls: Sequence[str]) -> None:
        await self._connection.ask_all([("ZREM", self._requests_key(url), url) for url in urls])

    def _requests_key(self, url: str) -> str:
        return self._names.of_domain(self._names.domain(host_of(url)), "requests")

    async def _all_domains(self) -> list[str]:
        return sorted(domain.decode() for domain in await self._connection.ask("SMEMBERS", keys.DOMAINS))

    async def _join_domains(self, domains: set[str]) -> None:
        new = domains - self._domains
        if new:
            await self._connection.ask("SADD", keys.DOMAINS, *new)
            self._domains |= new

    # Sweeps

    async def recorded(self) -> AsyncIterator[list[tuple[str, float]]]:
        async for part in self._connection.scan(self._names.every("record")):
            times = await self._connection.ask_all([("HGET", name, "t") for name in part])
            yield [(Keys.name_in(name, "record"), float(t)) for name, t in zip(part, times, strict=True) if t]

    async def copied(self) -> AsyncIterator[list[str]]:
        async for part in self._connection.scan(self._names.every("copies")):
            yield [Keys.name_in(name, "copies") for name in part]

    async def tidy(self) -> None:
        if self._files is not None:
            found = await asyncio.to_thread(self._files.list)
            referred_to: set[str] = set()
            async for part in self._connection.scan(self._names.every("copies")):
                for variants in await self._connection.ask_all([("HVALS", name) for name in part]):
                    referred_to.update(v.split(b"|", 1)[0].decode(errors="replace") for v in variants)
            freed = await asyncio.to_thread(self._files.sweep, found, referred_to)
            log.debug("removed %d bytes of bodies that nothing refers to", freed)
            self._size_bytes = (await self._connection.ask("INFO", "memory"))["used_memory"]
        else:  # others keep their data there too
            size_bytes = 0
            async for part in self._connection.scan(f"bb{keys.SCHEMA}:*"):
                sizes = await self._connection.ask_all([("MEMORY", "USAGE", key) for key in part])
                size_bytes += sum(size or 0 for size in sizes)
            self._size_bytes = size_bytes

    @property
    def size_bytes(self) -> int | None:
        return self._size_bytes

    def _real_ms(self, policy_s: float) -> int:
        return max(1, int(self._clock.to_real_s(policy_s) * 1000)) if policy_s else 0


def _versioned(version: bytes, record: bytes) -> Versioned:
    """A record that cannot be read counts as none, and is replaced by what is learnt next."""
    return Versioned(version, _readable(codec.decode_record, record) if record else None)


def _readable[T](decode: Callable[[bytes], T], encoded: bytes) -> T | None:
    try:
        return decode(encoded)
    except codec.UnreadableError as e:
        log.warning("%s", e)
        return None


def _hear(heard: Callable[[Tombstone], None], encoded: bytes) -> None:
    tombstone = _readable(codec.decode_tombstone, encoded)
    if tombstone is not None:
        heard(tombstone)


def _flat(counts: Any) -> list[int]:
    return [len(counts), *(number for pair in counts.items() for number in pair)]


def _counted(flat: Any) -> dict[int, int]:
    return {int(hour): int(n) for hour, n in pairs(flat)}
