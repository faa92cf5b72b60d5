"""The counts of hosts and of requests in Redis or Valkey, and the sets that list the counted hosts and domains."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.resources import files
from itertools import batched
from typing import Any

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.store.backend import keys, scripts
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.interface import VARIANTS_KEPT, GroupCounts
from bestbefore.addon.store.backend.keys import CopyKey, host_of, variant_of
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import count_of, counts_of, number_of, rates_of, text_of
from bestbefore.addon.store.cache.gains import total
from bestbefore.addon.store.counts.copy_counts import CopyCounts
from bestbefore.policies.models.demand import DAY_MEMORY_S, MINUTES_MEMORY_S, CopyDemand
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.control import PERIOD_S, PERIODS, SUMS

TOP_STEP = 8
"""How many objects of a domain are first read for those most requested of all."""
REQUESTS_KEPT = 5_000
"""For how many objects of a registrable domain requests are counted."""
DEMAND_KEPT_S = 28 * DAY_S
"""How long the demand for the copies of an object is kept after the last request."""
COPY_NUMBERS = len(CopyDemand._fields) + 2
"""How many numbers are stored of a copy: its demand, when it was current, and the stale hits predicted since. Earlier
versions stored numbers of requests in place of the last two, which are the time of no contact."""
SCANNED = 1_000
"""How many members of a set are compared with a text at once: the server does nothing else meanwhile (0.1 ms)."""
COUNTS_BATCH = 16
"""For how many domains counts are read in one pipeline."""

_SPECIAL = re.compile(r"[A-Za-z*?\[\]^\\-]")
"""What stands for more than itself in a pattern of Redis, and letters."""
_sum = script((files(scripts) / "sum.lua").read_text("utf-8"))
_add_demand = script((files(scripts) / "demand.lua").read_text("utf-8"))


class RedisCounts:
    """The base class of `redis.RedisBackend` for counts."""

    def __init__(self, commands: RepairingCommands, clock: Clock, *, forget_after_s: float) -> None:
        """`forget_after_s` is in policy time."""
        self._connection = commands
        self._connection.removed = self._rebuild
        self._clock = clock
        self._forget_after_s = forget_after_s
        self._domains: set[str] = set()
        """The domains known to be in the set of all domains."""

    async def counts(self, belongs: Callable[[str], bool], domain: str | None) -> GroupCounts:
        domains = await self._all_domains() if domain is None else [domain]
        gains = []
        for some in batched(domains, COUNTS_BATCH):
            lists = [name for one in some for name in keys.of_parts(one, "hosts")]
            listed = await self._connection.ask_all([("SMEMBERS", name) for name in lists])
            parts = [
                [
                    f"{name.removesuffix('hosts')}{kind}:{label}"
                    for label in map(text_of, labels)
                    if label is not None and belongs(label)
                    for kind in keys.COUNT_KINDS
                ]
                for name, labels in zip(lists, listed, strict=True)
            ]
            for updates, starts, rates in await self._connection.ask_all([_sum(names, []) for names in parts if names]):
                gains.append(GroupCounts(counts_of(updates), counts_of(starts), rates_of(rates)))
        return total(gains)

    async def tally(self, requests: Mapping[str, int]) -> None:
        commands: list[Sequence[Any]] = [("ZINCRBY", self._requests_key(url), n, url) for url, n in requests.items()]
        domains = {keys.domain_of(host_of(url)) for url in requests}
        for domain in domains:
            name = keys.of_domain(domain, "requests")
            commands.append(("ZREMRANGEBYRANK", name, 0, -REQUESTS_KEPT - 1))
            commands.append(("PEXPIRE", name, self._real_ms(self._forget_after_s)))
        await self.join_domains(domains)
        await self._connection.ask_all(commands)

    async def demand(self, key: CopyKey) -> CopyCounts | None:
        found = await self._connection.ask("HGET", *keys.of_object(key.url, "demand"), variant_of(key))
        numbers = [n for part in (found or b"").split() if (n := number_of(part)) is not None]
        if len(numbers) != COPY_NUMBERS:
            return None
        *demand, contact_s, predicted = numbers
        return CopyCounts(CopyDemand(*demand), contact_s, int(predicted))

    async def add_demand(self, counts: Mapping[CopyKey, CopyCounts]) -> None:
        latest_s, live_ms = self._clock.now() + CLOCK_SKEW_S, self._real_ms(DEMAND_KEPT_S)
        given = " ".join(map(repr, (DAY_MEMORY_S, MINUTES_MEMORY_S, latest_s, VARIANTS_KEPT, live_ms)))
        await self._connection.ask_all([
            _add_demand(
                keys.of_object(key.url, "demand"),
                [variant_of(key), " ".join(map(repr, (*one.demand, one.contact_s, one.predicted))), given],
            )
            for key, one in counts.items()
        ])

    async def forget_demand(self, matches: Callable[[str], bool]) -> None:
        async for part in self._connection.scan(keys.every("demand")):
            urls = [url for name in part if (url := keys.name_in(name, "demand")) is not None and matches(url)]
            await self._connection.ask_all([("DEL", *keys.of_object(url, "demand")) for url in urls])

    async def stale_sums(self, group: str) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for name, amount in pairs(await self._connection.ask("HGETALL", *keys.of_object(group, "stale"))):
            period, _, which = (text_of(name) or "").partition(" ")
            number = number_of(amount)
            if period.isdecimal() and which.isdecimal() and int(which) < SUMS and number is not None:
                found.setdefault(int(period), [0] * SUMS)[int(which)] = int(number)
        latest = max(found, default=0)
        old = [period for period in found if period <= latest - PERIODS]
        if old:
            names = [f"{period} {which}" for period in old for which in range(SUMS)]
            await self._connection.ask("HDEL", *keys.of_object(group, "stale"), *names)
        return {period: found[period] for period in found if period not in old}

    async def add_stale_sums(self, sums: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
        commands: list[Sequence[Any]] = []
        for group, of_periods in sums.items():
            (name,) = keys.of_object(group, "stale")
            for period, amounts in of_periods.items():
                commands.extend(
                    ("HINCRBY", name, f"{period} {which}", amount) for which, amount in enumerate(amounts) if amount
                )
            commands.append(("PEXPIRE", name, self._real_ms(PERIODS * PERIOD_S)))
        await self._connection.ask_all(commands)

    async def top(self, n: int, text: str = "") -> list[tuple[str, int]]:
        names = [keys.of_domain(domain, "requests") for domain in await self._all_domains()]
        if text:
            return await self._found(names, n, text)
        best: list[tuple[int, str]] = []
        start, step = 0, min(n, TOP_STEP)
        while names:
            # A few of each domain, and more only of those whose last one is among the best: that is seldom.
            ends = start + step - 1
            found = await self._connection.ask_all([("ZREVRANGE", name, start, ends, "WITHSCORES") for name in names])
            parts = [[(count_of(score), text_of(url) or "") for url, score in pairs(part)] for part in found]
            best = sorted([*best, *(one for part in parts for one in part if one[1])], reverse=True)[:n]
            last = best[-1] if len(best) == n else (-1, "")
            names = [name for name, part in zip(names, parts, strict=True) if len(part) == step and part[-1] > last]
            start, step = start + step, 2 * step
            if start >= n:
                break
        return [(url, count) for count, url in best]

    async def _found(self, names: Sequence[str], n: int, text: str) -> list[tuple[str, int]]:
        """Return the members with this text of some sets, those of the highest scores; the server looks for them."""
        found: dict[str, int] = {}
        cursors: dict[str, Any] = dict.fromkeys(names, 0)
        while cursors:
            asked = [("ZSCAN", name, at, "MATCH", glob_of(text), "COUNT", SCANNED) for name, at in cursors.items()]
            replies = dict(zip(cursors, await self._connection.ask_all(asked), strict=True))
            cursors = {name: at for name, (at, _) in replies.items() if int(at)}
            for _, part in replies.values():
                found |= {text_of(url) or "": count_of(score) for url, score in pairs(part)}
            found = dict(sorted(found.items(), key=lambda item: (item[1], item[0]), reverse=True)[:n])
        return list(found.items())

    async def requested(self) -> AsyncIterator[list[str]]:
        for domain in await self._all_domains():
            found = await self._connection.ask("ZRANGE", keys.of_domain(domain, "requests"), 0, -1)
            yield [url for url in map(text_of, found) if url is not None]

    async def uncount(self, urls: Sequence[str]) -> None:
        await self._connection.ask_all([("ZREM", self._requests_key(url), url) for url in urls])

    def _requests_key(self, url: str) -> str:
        return keys.of_domain(keys.domain_of(host_of(url)), "requests")

    async def _all_domains(self) -> list[str]:
        found = await self._connection.ask("SMEMBERS", keys.DOMAINS)
        return sorted(domain for domain in map(text_of, found) if domain is not None)

    async def join_domains(self, domains: set[str]) -> None:
        """Add registrable domains to the set of those with data."""
        new = domains - self._domains
        if new:
            await self._connection.ask("SADD", keys.DOMAINS, *new)
            self._domains |= new

    async def _rebuild(self, removed: str) -> None:
        """Rebuild a set that was removed as corrupt, from the names of the keys."""
        if removed == keys.DOMAINS:
            self._domains.clear()
            async for part in self._connection.scan("bb1:{*}:*"):
                domains = set(filter(None, map(keys.name_of_domain, part)))
                if domains:
                    await self._connection.ask("SADD", keys.DOMAINS, *domains)
        elif removed.endswith("}:hosts"):
            pattern = removed.removesuffix("hosts").replace("[", "?").replace("*", "?")
            for kind in keys.COUNT_KINDS:
                async for part in self._connection.scan(f"{pattern}{kind}:*"):
                    hosts = set(filter(None, (keys.name_in(name, kind) for name in part)))
                    if hosts:
                        await self._connection.ask("SADD", removed, *hosts)

    def _real_ms(self, policy_s: float) -> int:
        return max(1, int(self._clock.to_real_s(policy_s) * 1000)) if policy_s else 0


def glob_of(text: str) -> str:
    r"""Return the pattern of Redis for any text that contains this one, of either case.

    >>> print(glob_of("a*1"))
    *[aA]\*1*
    """
    return f"*{_SPECIAL.sub(_either, text)}*"


def _either(found: re.Match[str]) -> str:
    character = found[0]
    return f"[{character.lower()}{character.upper()}]" if character.isalpha() else f"\\{character}"
