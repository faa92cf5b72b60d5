"""Sites in Redis or Valkey, shared by all processes on it."""

from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import chain

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import pairs, script
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.backend.replies import number_of, text_of
from bestbefore.addon.store.sites.keeper import (
    KeptSite,
    SiteNews,
    decode_change,
    decode_news,
    encode_change,
    encode_news,
    siblings_of,
)
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.siblings.changes import CHANGES_KEPT
from bestbefore.policies.validation.siblings.siblings import NAMES_KEPT, NO_TRIALS, Siblings
from bestbefore.policies.validation.siblings.trials import Trials

SITES_KEPT_S = 28 * DAY_S
"""How long a site is kept after the last news of it, policy time."""
COUNTS_KEPT = 2 * NAMES_KEPT
"""How many counts of objects and directories of a site are kept; of more, any are removed."""
VERSION, SITE, DIRECTORY, OBJECT = "version", "site", "d:", "o:"
"""The names of fields, and the beginnings of the names of those with counts of directories and objects."""

_add = script((files("bestbefore.addon.store.sites") / "add.lua").read_text("utf-8"), "hash", "list")
_forget = script(
    """
redis.call('DEL', KEYS[1], KEYS[2])
local now = redis.call('TIME')
return redis.call('PUBLISH', ARGV[1], string.format('%.0f -1 ', now[1] * 1000000 + now[2]) .. ARGV[2])""",
    "hash",
    "list",
)


class RedisSites:
    """A `SiteKeeper` in Redis or Valkey; the keys are those of `keys`."""

    def __init__(self, commands: RepairingCommands, clock: Clock, unreadable: Callable[[str], None]) -> None:
        """`unreadable` is called with a message about each published text that cannot be decoded."""
        self._connection = commands
        self._clock = clock
        self._unreadable = unreadable
        self.on_news: Callable[[SiteNews], None] = lambda _: None

    def receive(self, encoded: bytes) -> None:
        """Receive a message of the channel."""
        try:
            news = decode_news(encoded)
        except ValueError as e:
            self._unreadable(f"news of a site cannot be read: {e}")
            return
        self.on_news(news)

    async def read(self, domain: str) -> KeptSite:
        siblings, changes = _keys(domain)
        counted, changed = await self._connection.ask_all([("HGETALL", siblings), ("LRANGE", changes, 0, -1)])
        version, of_site = 0, NO_TRIALS
        by_directory: dict[str, Trials] = {}
        by_name: dict[str, Trials] = {}
        for raw_field, raw in pairs(counted):
            field = text_of(raw_field) or ""
            if field == VERSION:
                version = int(number_of(raw) or 0)
            elif field == SITE:
                of_site = _trials(raw)
            elif field.startswith(DIRECTORY):
                by_directory[field.removeprefix(DIRECTORY)] = _trials(raw)
            elif field.startswith(OBJECT):
                by_name[field.removeprefix(OBJECT)] = _trials(raw)
        return KeptSite(version, siblings_of(of_site, by_directory, by_name, list(_changes(changed))))

    async def add(self, news: SiteNews) -> None:
        known = news.siblings
        changes = [encode_change(change) for change in known.changes]
        counts = [
            (SITE, known.of_site),
            *((DIRECTORY + name, own) for name, own in known.by_directory.items()),
            *((OBJECT + name, own) for name, own in known.by_name.items()),
        ]
        live_ms = max(1, int(self._clock.to_real_s(SITES_KEPT_S) * 1000))
        fields = chain.from_iterable((field, " ".join(map(str, own))) for field, own in counts)
        bounds = live_ms, COUNTS_KEPT, CHANGES_KEPT
        arguments = [keys.SITES_CHANNEL, encode_news(news), *bounds, len(changes), *changes, *fields]
        await self._connection.ask(*_add(_keys(news.domain), arguments))

    async def forget(self, matches: Callable[[str], bool]) -> None:
        async for part in self._connection.scan("bb1:{*}:siblings"):
            for domain in filter(None, map(keys.name_of_domain, part)):
                known = (await self.read(domain)).siblings
                if any(map(matches, known.names())):
                    message = encode_news(SiteNews(domain, "", Siblings()))
                    await self._connection.ask(*_forget(_keys(domain), [keys.SITES_CHANNEL, message]))


def _keys(domain: str) -> list[str]:
    return [keys.of_domain(domain, kind) for kind in ("siblings", "changes")]


def _trials(raw: bytes) -> Trials:
    """Parse counts; none if they are malformed."""
    numbers = [int(part) for part in raw.split() if part.isdigit()]
    return Trials(*numbers) if len(numbers) == len(Trials._fields) else NO_TRIALS


def _changes(encoded: list[bytes]) -> Iterator[tuple[float, str]]:
    for one in encoded:
        try:
            yield decode_change(one)
        except ValueError:  # another process wrote it
            continue
