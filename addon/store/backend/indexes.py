"""The indexes of copies in Redis or Valkey: members of groups, URLs with equivalent queries, dictionaries."""

from collections.abc import Sequence
from itertools import batched
from typing import Any

from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate
from bestbefore.addon.rfc9111.caching.search_variance import NO_VARY_SEARCH, SearchVariance
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.interface import KeptCopy, Put
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import number_of, text_of
from bestbefore.addon.store.dictionary_index import CANDIDATES_KEPT
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


_add_dictionary = script(
    """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[4]) then
  local oldest, oldest_s
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local received_s = tonumber(string.match(all[i + 1], '^[^ ]*')) or -math.huge
    if not oldest or received_s < oldest_s then
      oldest, oldest_s = all[i], received_s
    end
  end
  redis.call('HDEL', KEYS[1], oldest)
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end""",
    "hash",
)


class CopyIndexes:
    """Members of groups (RFC 9875), URLs with equivalent queries (No-Vary-Search) and dictionaries (RFC 9842).

    Each entry expires, and a full server may evict it earlier: a copy that is missing in one of its groups is not used,
    as an invalidation would not find it, and what is missing elsewhere is not proposed.
    """

    def __init__(self, commands: RepairingCommands) -> None:
        self._commands = commands

    async def add(self, puts: Sequence[Put]) -> None:
        """Index copies that are about to be stored."""
        await self._commands.ask_all([command for put in puts for command in _entries(put)])

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

    async def equivalent(self, url: str, raw: bytes | None = None) -> str | None:
        """Return another URL with a copy that probably answers a request for this one; None if there is none.

        `raw`: the reply to `variance_declared`, if it is known.
        """
        path, _, query = url.partition("?")
        declared = await self._text(keys.of_object(path, "variance")[0]) if raw is None else text_of(raw)
        variance = None if declared is None else SearchVariance.declared(declared)
        digest = None if variance is None else variance.digest(query)
        if digest is None:
            return None
        found = await self._text(keys.of_object(f"{path}?{digest}", "equivalent")[0])
        is_another = found is not None and found != url and found.partition("?")[0] == path
        return found if is_another else None

    # Dictionaries

    async def dictionaries(self, origin: str) -> list[DictionaryCandidate]:
        """Return the copies of an origin that may be dictionaries."""
        found = pairs(await self._commands.ask("HGETALL", *keys.of_object(origin, "dictionaries")))
        known = (_candidate(text_of(url), text_of(value)) for url, value in found)
        return [candidate for candidate in known if candidate is not None]

    async def _text(self, key: str) -> str | None:
        found = await self._commands.ask("GET", key)
        return None if found is None else text_of(found)


def variance_declared(url: str) -> tuple[str, str] | None:
    """Return the command for the No-Vary-Search of a URL's path; None if the URL has no query."""
    path, mark, _ = url.partition("?")
    return ("GET", keys.of_object(path, "variance")[0]) if mark else None


def _grouped(group: str) -> str:
    return keys.of_object(group, "grouped")[0]


def _candidate(url: str | None, value: str | None) -> DictionaryCandidate | None:
    received, _, match = (value or "").partition(" ")
    received_s = number_of(received)
    try:
        name = Target.parse(url or "").url
    except ValueError:
        return None
    return DictionaryCandidate(name, match, received_s) if match and received_s is not None else None


def _entries(put: Put) -> list[Sequence[Any]]:
    """Return the commands by which a copy is indexed."""
    return [*_joining(put), *_searching(put), *_offering(put)]


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


def _offering(put: Put) -> list[Sequence[Any]]:
    candidate = DictionaryCandidate.of(put.copy)
    if candidate is None:
        return []
    key = keys.of_object(Target.parse(put.copy.url).origin, "dictionaries")
    value = f"{candidate.received_s!r} {candidate.match}"
    return [_add_dictionary(key, [candidate.url, value, max(1, int(put.ttl_s * 1000)), CANDIDATES_KEPT])]
