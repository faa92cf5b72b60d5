"""The state of prefetching in Redis or Valkey, shared by all proxies on it."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate, batched, pairwise
from typing import Any

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend import keys, scripts
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.keeper import (
    ANNOUNCED_KEPT,
    ANNOUNCED_KEPT_S,
    PART,
    SHARDS,
    WANTS_KEPT,
    WANTS_KEPT_DAYS,
    Held,
    Want,
    digest_of,
    shard_of,
)
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import count_of, counts_of, text_of
from bestbefore.policies.units import DAY_S

CANDIDATES_KEPT_S = 30 * DAY_S
"""How long candidates are kept after the last write, policy time."""
OUTLOOK_KEPT_S = 60.0
ANNOUNCED_READ = 1_000
"""How many announced objects are read at a time."""
MOST_BYTES = 1 << 52
"""The most bytes that are counted, which a number in Lua holds."""
WANTS_BATCH = 16
"""For how many domains wants are read in one pipeline, whose replies are all kept in memory."""

_folder = files(scripts)
_take = script((_folder / "take.lua").read_text("utf-8"), "string", "string")
_hold = script((_folder / "hold.lua").read_text("utf-8"), "hash")
_live = script(
    """
local clock, live = redis.call('TIME'), {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local holder, at = string.match(flat[i], '^until (.+)$'), tonumber(flat[i + 1])
  if holder and at and at > clock[1] * 1000 then live[#live + 1] = holder end
end
return live""",
    "hash",
)
_announce = script(
    """
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
for i = 3, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[i]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[1] - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1""",
    "zset",
)
_part = script(
    """
local found, lengths = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]), {}
for i, text in ipairs(found[2]) do lengths[i] = #text end
return {found[1], table.concat(lengths, ' '), table.concat(found[2])}""",
    "hash",
)
"""A part of a hash: the next cursor, the lengths of its fields and values in turn, and these joined. The client reads
one text in place of thousands."""
_spend = script((_folder / "spend.lua").read_text("utf-8"), "hash")
_if_mine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
_renew = script(_if_mine + "return redis.call('PEXPIRE', KEYS[1], ARGV[2])", "string")
_finish = script(_if_mine + "redis.call('SET', KEYS[1], 'made ' .. ARGV[1], 'PX', ARGV[2]) return 1", "string")
_release = script(_if_mine + "return redis.call('DEL', KEYS[1])", "string")
_pause = script(
    """
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], 'paused', 'PX', ARGV[1]) end
return 1""",
    "string",
)


class RedisKeeper:
    """A `Keeper` in Redis or Valkey; the keys are those of `keys`."""

    def __init__(self, commands: RepairingCommands, clock: Clock) -> None:
        self._connection = commands
        self._clock = clock

    # Demand

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> Mapping[Want, int]:
        commands: list[Sequence[Any]] = []
        used = set()
        for want, n in wants.items():
            name = self._wanted(keys.domain_of(host_of(want.url)), day)
            commands.append(("ZINCRBY", name, n, f"{want.asked_from} {want.url}"))
            used.add(name)
        live_ms = int(self._clock.to_real_s((WANTS_KEPT_DAYS + 1) * DAY_S) * 1000) + 1
        for name in used:
            commands += [("ZREMRANGEBYRANK", name, 0, -WANTS_KEPT - 1), ("PEXPIRE", name, live_ms)]
        sums = await self._connection.ask_all(commands)
        return {want: count_of(total) for want, total in zip(wants, sums, strict=False)}

    def _wanted(self, domain: str, day: int) -> str:
        return f"{keys.of_domain(domain, 'wanted')}:{day}"

    async def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        domains = await self._connection.ask("SMEMBERS", keys.DOMAINS)
        for part in batched(filter(None, map(text_of, domains)), WANTS_BATCH):
            asked = [(day, self._wanted(domain, day)) for domain in part for day in days]
            counts = await self._connection.ask_all([("ZRANGE", name, 0, -1, "WITHSCORES") for _, name in asked])
            for (day, _), found in zip(asked, counts, strict=True):
                yield day, {_want(member): count_of(n) for member, n in pairs(found)}

    async def asked(self, urls: Sequence[str], ranges: Sequence[str], days: Sequence[int]) -> list[dict[str, int]]:
        commands = []
        for url in urls:
            domain, members = keys.domain_of(host_of(url)), [f"{name} {url}" for name in ranges]
            commands += [("ZMSCORE", self._wanted(domain, day), *members) for day in days]
        sums = []
        for answers in batched(await self._connection.ask_all(commands), len(days)):
            by_range = (sum(map(count_of, counts)) for counts in zip(*answers, strict=True))
            sums.append({name: n for name, n in zip(ranges, by_range, strict=True) if n})
        return sums

    async def announce(self, urls: Collection[str]) -> None:
        await self._connection.ask(*_announce([keys.ANNOUNCED], [ANNOUNCED_KEPT, _ms(ANNOUNCED_KEPT_S), *urls]))

    async def announced(self, since: int) -> tuple[list[str], int]:
        found = await self._connection.ask(
            "ZRANGEBYSCORE", keys.ANNOUNCED, f"({since}", "+inf", "WITHSCORES", "LIMIT", 0, ANNOUNCED_READ
        )
        urls, last = [], since
        for url, at in pairs(found):
            urls.append(text_of(url) or "")
            last = max(last, count_of(at))
        return urls, last

    async def forget(self, matches: Callable[[str], bool]) -> None:
        for shard in range(SHARDS):
            async for candidates in self.candidates(shard):
                forgotten = dict.fromkeys(filter(matches, candidates))
                if forgotten:
                    await self.put_candidates(forgotten)
        troubled = dict.fromkeys(filter(matches, await self.troubles()))
        if troubled:
            await self.put_troubles(troubled)
        async for part in self._connection.scan(keys.every("wanted")):
            for name, members in zip(
                part, await self._connection.ask_all([("ZRANGE", name, 0, -1) for name in part]), strict=True
            ):
                gone = [member for member in members if matches(_want(member).url)]
                if gone:
                    await self._connection.ask("ZREM", name, *gone)
        async for part in self._connection.scan(keys.every("fetch")):
            # A fetch in progress loses its lease here: its copy is dead already, and what it learns is new.
            urls = ((name, keys.name_in(name, "fetch")) for name in part)
            await self._connection.ask_all([("DEL", name) for name, url in urls if url is not None and matches(url)])

    # Candidates

    async def hold(self, holder: str, lease_s: float) -> Held:
        part, *shards = await self._connection.ask(*_hold([keys.SHARDS], [holder, max(_ms(lease_s), 1), SHARDS]))
        return Held(frozenset(shards), part)

    async def let_go(self, holder: str) -> None:
        await self._connection.ask("HDEL", keys.SHARDS, f"until {holder}")

    async def candidates(self, shard: int) -> AsyncIterator[dict[str, bytes]]:
        name, cursor = keys.of_shard(shard), b"0"
        while True:
            cursor, lengths, joined = await self._connection.ask(*_part([name], [cursor, PART]))
            ends = [0, *accumulate(map(int, lengths.split()))]
            texts = [joined[begin:end] for begin, end in pairwise(ends)]
            named = zip(map(text_of, texts[::2]), texts[1::2], strict=True)
            yield {url: candidate for url, candidate in named if url is not None}
            if not int(cursor):
                return

    async def candidate(self, url: str) -> bytes | None:
        found: bytes | None = await self._connection.ask("HGET", keys.of_shard(shard_of(digest_of(url))), url)
        return found

    async def put_candidates(self, candidates: Mapping[str, bytes | None]) -> None:
        commands: list[Sequence[Any]] = []
        live_ms, used = self._real_ms(CANDIDATES_KEPT_S), set()
        for url, candidate in candidates.items():
            name = keys.of_shard(shard_of(digest_of(url)))
            commands.append(("HDEL", name, url) if candidate is None else ("HSET", name, url, candidate))
            used.add(name)
        await self._connection.ask_all([*commands, *(("PEXPIRE", name, live_ms) for name in used)])

    async def put_troubles(self, troubles: Mapping[str, bytes | None]) -> None:
        commands: list[Sequence[Any]] = [
            ("HDEL", keys.TROUBLES, url) if trouble is None else ("HSET", keys.TROUBLES, url, trouble)
            for url, trouble in troubles.items()
        ]
        await self._connection.ask_all([*commands, ("PEXPIRE", keys.TROUBLES, self._real_ms(CANDIDATES_KEPT_S))])

    async def troubles(self) -> dict[str, bytes]:
        found = pairs(await self._connection.ask("HGETALL", keys.TROUBLES))
        return {url: trouble for name, trouble in found if (url := text_of(name)) is not None}

    async def put_outlook(self, holder: str, outlook: bytes) -> None:
        await self._connection.ask("SET", keys.of_holder(holder), outlook, "PX", _ms(OUTLOOK_KEPT_S))

    async def outlooks(self) -> list[bytes]:
        live = filter(None, map(text_of, await self._connection.ask(*_live([keys.SHARDS], []))))
        found = await self._connection.ask_all([("GET", keys.of_holder(holder)) for holder in live])
        return [outlook for outlook in found if outlook is not None]

    # Fetches

    async def take(self, url: str, holder: str, lease_s: float, interval_s: float) -> float:
        names = [self._fetch(url), self._pace(host_of(url))]
        answer = await self._connection.ask(*_take(names, [holder, max(_ms(lease_s), 1), _ms(interval_s)]))
        return float(answer) / 1000.0

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        return bool(await self._connection.ask(*_renew([self._fetch(url)], [holder, _ms(lease_s)])))

    async def finish(self, url: str, holder: str, keep_s: float) -> None:
        await self._connection.ask(*_finish([self._fetch(url)], [holder, max(_ms(keep_s), 1)]))

    async def release(self, url: str, holder: str) -> None:
        await self._connection.ask(*_release([self._fetch(url)], [holder]))

    async def pause(self, domain: str, wait_s: float) -> None:
        if _ms(wait_s):
            await self._connection.ask(*_pause([self._pace(domain)], [_ms(wait_s)]))

    def _fetch(self, url: str) -> str:
        return keys.of_url(url, "fetch")

    def _pace(self, host: str) -> str:
        return keys.of_domain(keys.domain_of(host), "pace")

    # The budget

    async def spend(self, period: int, since: int, most: int) -> bool:
        return await self._count(keys.SPENT, period, since, most, 1)

    async def spent(self, since: int) -> int:
        return await self._counted(keys.SPENT, since)

    async def receive(self, period: int, since: int, received_bytes: int) -> None:
        await self._count(keys.RECEIVED, period, since, MOST_BYTES, received_bytes)

    async def received_bytes(self, since: int) -> int:
        return await self._counted(keys.RECEIVED, since)

    async def _count(self, name: str, period: int, since: int, most: int, number: int) -> bool:
        live_ms = self._real_ms(WANTS_KEPT_DAYS * DAY_S)
        return bool(await self._connection.ask(*_spend([name], [period, since, most, live_ms, number])))

    async def _counted(self, name: str, since: int) -> int:
        counts = await self._connection.ask("HGETALL", name)
        return sum(n for period, n in counts_of(counts).items() if period >= since)

    def _real_ms(self, policy_s: float) -> int:
        return max(1, _ms(self._clock.to_real_s(policy_s)))


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _want(member: bytes) -> Want:
    asked_from, _, url = member.decode(errors="replace").partition(" ")
    return Want(url, asked_from)
