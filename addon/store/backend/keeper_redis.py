"""The state of prefetching in Redis or Valkey, shared by all proxies on it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.resources import files
from itertools import batched
from typing import Any

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.keeper import DONE, WANTS_KEPT, WANTS_KEPT_DAYS, Want
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import count_of, counts_of, text_of
from bestbefore.policies.units import DAY_S

PLAN_KEPT_S = 30 * DAY_S
"""Policy time."""
WANTS_BATCH = 16
"""For how many domains wants are read in one pipeline, whose replies are all kept in memory."""

_folder = files("bestbefore.addon.store.backend")
_take = script((_folder / "take.lua").read_text("utf-8"), "string", "string")
_spend = script((_folder / "spend.lua").read_text("utf-8"), "hash")
_if_mine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
_renew = script(_if_mine + "return redis.call('PEXPIRE', KEYS[1], ARGV[2])", "string")
_finish = script(_if_mine + "redis.call('SET', KEYS[1], 'done ' .. ARGV[2], 'PX', ARGV[3]) return 1", "string")
_release = script(_if_mine + "return redis.call('DEL', KEYS[1])", "string")
_lead = script(
    """
local leader = redis.call('GET', KEYS[1])
-- A lease without an end was not written by us.
if leader and leader ~= ARGV[1] and redis.call('PTTL', KEYS[1]) >= 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1""",
    "string",
)
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

    # Wants

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> None:
        commands: list[Sequence[Any]] = []
        used = set()
        for want, n in wants.items():
            name = self._wanted(keys.domain_of(host_of(want.url)), day)
            commands.append(("ZINCRBY", name, n, f"{want.asked_from} {want.url}"))
            used.add(name)
        live_ms = int(self._clock.to_real_s((WANTS_KEPT_DAYS + 1) * DAY_S) * 1000) + 1
        for name in used:
            commands += [("ZREMRANGEBYRANK", name, 0, -WANTS_KEPT - 1), ("PEXPIRE", name, live_ms)]
        await self._connection.ask_all(commands)

    def _wanted(self, domain: str, day: int) -> str:
        return f"{keys.of_domain(domain, 'wanted')}:{day}"

    async def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        domains = await self._connection.ask("SMEMBERS", keys.DOMAINS)
        for part in batched(filter(None, map(text_of, domains)), WANTS_BATCH):
            asked = [(day, self._wanted(domain, day)) for domain in part for day in days]
            counts = await self._connection.ask_all([("ZRANGE", name, 0, -1, "WITHSCORES") for _, name in asked])
            for (day, _), found in zip(asked, counts, strict=True):
                yield day, {_want(member): count_of(n) for member, n in pairs(found)}

    async def forget(self, matches: Callable[[str], bool]) -> None:
        async for part in self._connection.scan(keys.every("wanted")):
            for name, members in zip(
                part, await self._connection.ask_all([("ZRANGE", name, 0, -1) for name in part]), strict=True
            ):
                gone = [member for member in members if matches(_want(member).url)]
                if gone:
                    await self._connection.ask("ZREM", name, *gone)
        async for part in self._connection.scan(keys.every("fetch")):
            # A job in progress loses its lease here: its copy is dead already, and what it learns is new.
            urls = ((name, keys.name_in(name, "fetch")) for name in part)
            await self._connection.ask_all([("DEL", name) for name, url in urls if url is not None and matches(url)])

    # The plan

    async def plan_version(self) -> str:
        version = await self._connection.ask("HGET", keys.PLAN, "version")
        return (version or b"").decode(errors="replace")

    async def plan(self) -> bytes | None:
        plan: bytes | None = await self._connection.ask("HGET", keys.PLAN, "plan")
        return plan

    async def put_plan(self, version: str, plan: bytes) -> None:
        await self._connection.ask_all([
            ("HSET", keys.PLAN, "version", version, "plan", plan),
            ("PEXPIRE", keys.PLAN, self._real_ms(PLAN_KEPT_S)),
        ])

    async def lead(self, holder: str, lease_s: float) -> bool:
        return bool(await self._connection.ask(*_lead([keys.PLANNER], [holder, max(_ms(lease_s), 1)])))

    # Jobs

    async def take(self, url: str, due_s: float, holder: str, lease_s: float, interval_s: float) -> float:
        answer = await self._connection.ask(
            *_take([self._fetch(url), self._pace(host_of(url))], [holder, repr(due_s), _ms(lease_s), _ms(interval_s)])
        )
        return DONE if answer < 0 else answer / 1000.0

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        return bool(await self._connection.ask(*_renew([self._fetch(url)], [holder, _ms(lease_s)])))

    async def finish(self, url: str, holder: str, due_s: float, keep_s: float) -> None:
        await self._connection.ask(*_finish([self._fetch(url)], [holder, repr(due_s), max(_ms(keep_s), 1)]))

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
        live_ms = self._real_ms(WANTS_KEPT_DAYS * DAY_S)
        return bool(await self._connection.ask(*_spend([keys.SPENT], [period, since, most, live_ms])))

    async def spent(self, since: int) -> int:
        counts = await self._connection.ask("HGETALL", keys.SPENT)
        return sum(n for period, n in counts_of(counts).items() if period >= since)

    def _real_ms(self, policy_s: float) -> int:
        return max(1, _ms(self._clock.to_real_s(policy_s)))


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _want(member: bytes) -> Want:
    asked_from, _, url = member.decode(errors="replace").partition(" ")
    return Want(url, asked_from)
