"""The indexes of copies in Redis or Valkey: the members of groups, and URLs with equivalent queries."""

from collections.abc import Sequence
from itertools import batched
from typing import Any

from bestbefore.addon.rfc9111.caching.search_variance import NO_VARY_SEARCH, SearchVariance
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.interface import KeptCopy, Put
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import text_of
from bestbefore.policies.units import DAY_S

SEARCHES_KEPT_S = 7 * DAY_S
"""How long a URL with an equivalent query is indexed at most, in real seconds, since its copy was last stored."""
MEMBERS_BATCH = 500

_join_group = script(
    """
redis.call('SADD', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end""",
    "set",
)


class CopyIndexes:
    """The members of groups (RFC 9875), and URLs with equivalent queries (No-Vary-Search).

    Each entry expires, and a full server may evict it earlier: a copy that is missing in one of its groups is not used,
    as an invalidation would not find it, and a URL that is missing is not proposed.
    """

    def __init__(self, commands: RepairingCommands) -> None:
        self._commands = commands

    async def add(self, puts: Sequence[Put]) -> None:
        """Index copies that are about to be stored."""
        await self._commands.ask_all([command for put in puts for command in (*_joining(put), *_searching(put))])

    # Groups

    async def in_their_groups(self, url: str, found: list[KeptCopy]) -> list[KeptCopy]:
        """Return the copies of a URL that are members of all their groups."""
        groups = sorted({group for kept in found for group in kept.copy.groups})
        if not groups:
            return found
        are_members = await self._commands.ask_all([("SISMEMBER", _grouped(group), url) for group in groups])
        missing = {group for group, is_member in zip(groups, are_members, strict=True) if not is_member}
        return [kept for kept in found if missing.isdisjoint(kept.copy.groups)]

    async def members(self, group: str) -> list[tuple[str, ...]]:
        """Return the URLs of the copies in a group, in batches."""
        members = map(text_of, await self._commands.ask("SMEMBERS", _grouped(group)))
        return list(batched((url for url in members if url is not None), MEMBERS_BATCH))

    async def leave(self, group: str, urls: Sequence[str]) -> None:
        """Remove members whose copies were removed."""
        await self._commands.ask("SREM", _grouped(group), *urls)

    # Queries

    async def equivalent(self, url: str) -> str | None:
        """Return another URL with a copy that probably answers a request for this one; None if there is none."""
        path, _, query = url.partition("?")
        declared = await self._text(keys.of_object(path, "variance")[0])
        variance = None if declared is None else SearchVariance.declared(declared)
        digest = None if variance is None else variance.digest(query)
        if digest is None:
            return None
        found = await self._text(keys.of_object(f"{path}?{digest}", "equivalent")[0])
        return None if found == url else found

    async def _text(self, key: str) -> str | None:
        found = await self._commands.ask("GET", key)
        return None if found is None else text_of(found)


def _grouped(group: str) -> str:
    return keys.of_object(group, "grouped")[0]


def _joining(put: Put) -> list[list[Any]]:
    ttl_ms = max(1, int(put.ttl_s * 1000))
    return [_join_group([_grouped(group)], [put.copy.url, ttl_ms]) for group in put.copy.groups]


def _searching(put: Put) -> list[Sequence[Any]]:
    declared = put.copy.head.fields.get(NO_VARY_SEARCH)
    variance = None if declared is None else SearchVariance.declared(declared)
    path, _, query = put.copy.url.partition("?")
    digest = None if variance is None else variance.digest(query)
    if digest is None:
        return []
    ttl_ms = max(1, int(min(put.ttl_s, SEARCHES_KEPT_S) * 1000))
    return [
        ("SET", *keys.of_object(path, "variance"), declared, "PX", ttl_ms),
        ("SET", *keys.of_object(f"{path}?{digest}", "equivalent"), put.copy.url, "PX", ttl_ms),
    ]
