"""The channel in Redis: a stream of signed messages for each site, and what is noted beside it.

The keys of a site S share a slot of a cluster. They begin with `bb1:channel:{S}:`.

- `messages`, stream: `m` the message, `s` its signature. The publisher trims it.
- `state`, hash: `epoch` and `number` of the last message, written with it. Never expires.
- `publisher`, string: the process that publishes, a lease.
- `sent`, hash: variant and URL -> the entry that brought it last, and what was sent (`catalogue.Sent`).
- `leases`, set: the names of subscribers. `lease:NAME`, string: the holder and the signed subscription; it expires.
- `status`, string: the publisher's report, as JSON; it expires.

`bb1:channels`, set: the sites that have had a subscriber.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bestbefore.addon.hub.catalogue import Sent, decode_sent
from bestbefore.addon.hub.status import LISTED
from bestbefore.addon.hub.wire import subscription as subscriptions
from bestbefore.addon.hub.wire.position import place_of
from bestbefore.addon.hub.wire.subscription import Subscription
from bestbefore.addon.store.backend.connection import Connection, pairs, script

SITES = "bb1:channels"
HOLDER_CHARACTERS = 16
READ_ENTRIES = 16
"""How many entries are read at once: half a MiB."""
ENTRY_BYTES = 48
"""What an entry costs on the wire beside its fields, about: lengths, names and its id."""

_publish = script(
    """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return false end
local id = redis.call('XADD', KEYS[1], '*', 'm', ARGV[2], 's', ARGV[3])
redis.call('HSET', KEYS[3], 'epoch', ARGV[4], 'number', ARGV[5])
local first = ARGV[6] ~= '' and ARGV[6] or id
for i = 7, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], first .. ' ' .. ARGV[i + 1]) end
return id""",
    "stream", "string", "hash", "hash",
)  # fmt: skip
_begin = script(
    """
local now = redis.call('TIME')
local last = redis.call('HMGET', KEYS[1], 'epoch', 'number')
local epoch = math.max(now[1] * 1000000 + now[2], tonumber(last[1] or 0) + 1)
return {string.format('%.0f', epoch), last[1] or '0', last[2] or '0'}""",
    "hash",
)
_hold = script(
    """
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
return 1""",
    "string",
)
_release = script(
    """
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0""",
    "string",
)


class StreamEntry(NamedTuple):
    """An entry of the stream."""

    id: str
    message: bytes
    signature: bytes

    @property
    def size_bytes(self) -> int:
        """What the entry costs on the wire, about."""
        return len(self.message) + len(self.signature) + ENTRY_BYTES


class Epoch(NamedTuple):
    """A new epoch, and the last message before it."""

    number: int
    after: tuple[int, int]


class SiteChannel:
    """The channel of one site. All methods raise the errors of the store."""

    def __init__(self, connection: Connection, site: str) -> None:
        self.site = site
        self._connection = connection

    def _key(self, kind: str) -> str:
        return f"bb1:channel:{{{self.site}}}:{kind}"

    # The publisher

    async def hold(self, holder: str, lease_s: float) -> bool:
        """Take or prolong the lease to publish; False if another process has it."""
        return bool(await self._connection.ask(*_hold([self._key("publisher")], [holder, "", _ms(lease_s)])))

    async def release(self, holder: str) -> None:
        """End the lease to publish."""
        await self._connection.ask(*_release([self._key("publisher")], [holder]))

    async def begin(self) -> Epoch:
        """Return a new epoch, higher than all before."""
        epoch, last, number = map(int, await self._connection.ask(*_begin([self._key("state")], [])))
        return Epoch(epoch, (last, number))

    async def publish(
        self,
        holder: str,
        message: bytes,
        signature: bytes,
        number: tuple[int, int],
        sent: Mapping[str, bytes],
        first: str = "",
    ) -> str | None:
        """Append a message; note with it what it completes. Returns its entry; None if the lease is another's.

        `first`: the entry of the first message of what it completes; empty if it is this one.
        """
        keys = [self._key(kind) for kind in ("messages", "publisher", "state", "sent")]
        noted = [part for pair in sent.items() for part in pair]
        entry = await self._connection.ask(*_publish(keys, [holder, message, signature, *number, first, *noted]))
        return None if entry is None else entry.decode()

    async def sent(self) -> dict[str, Sent]:
        """Return what was sent."""
        found = {}
        for key, value in pairs(await self._connection.ask("HGETALL", self._key("sent"))):
            entry, _, encoded = value.partition(b" ")
            sent = decode_sent(place_of(entry.decode()), encoded)
            if sent is not None:
                found[key.decode()] = sent
        return found

    async def forget_sent(self, keys: Sequence[str]) -> None:
        """Forget what was sent of these."""
        if keys:
            await self._connection.ask("HDEL", self._key("sent"), *keys)

    async def trim(self, first: str) -> None:
        """Remove the entries before one."""
        await self._connection.ask("XTRIM", self._key("messages"), "MINID", first)

    async def report(self, status: Mapping[str, object], live_s: float) -> None:
        """Publish the state of the queue, for edges and `bestbefore show`."""
        await self._connection.ask("SET", self._key("status"), json.dumps(status), "PX", _ms(live_s))

    # Readers

    async def read(self, after: str, wait_s: float) -> list[StreamEntry]:
        """Return the entries after one, waiting for the first."""
        key = self._key("messages")
        found = await self._connection.ask(
            "XREAD", "COUNT", READ_ENTRIES, "BLOCK", _ms(wait_s), "STREAMS", key, after
        )
        streams = pairs(found or ())
        return [] if not streams else _entries(streams[0][1])

    async def entries(self, after: str = "-") -> list[StreamEntry]:
        """Return entries from the first on, or after one, without waiting."""
        start = after if after == "-" else f"({after}"
        return _entries(await self._connection.ask("XRANGE", self._key("messages"), start, "+", "COUNT", READ_ENTRIES))

    async def last(self) -> str:
        """Return the id of the last entry; `0-0` if there is none."""
        found = _entries(await self._connection.ask("XREVRANGE", self._key("messages"), "+", "-", "COUNT", 1))
        return found[0].id if found else "0-0"

    async def status(self) -> dict[str, Any] | None:
        """Return the last report of the publisher; None if there is none, or it is malformed."""
        found = await self._connection.ask("GET", self._key("status"))
        try:
            status = json.loads(found or "null")
        except ValueError:
            return None
        return status if isinstance(status, dict) else None

    # Subscriptions

    async def subscribers(self) -> list[str]:
        """Return the names of those whose leases last, as many as a report may have. No signature is checked."""
        names = sorted(await self._connection.ask("SMEMBERS", self._key("leases")))[:LISTED]
        shown = [name.decode(errors="replace") for name in names]
        return [name for name in shown if await self._connection.ask("EXISTS", self._key(f"lease:{name}"))]

    async def subscribe(self, subscription: Subscription, key: bytes, lease_s: float) -> bool:
        """Take or prolong the lease of a subscription; False if another process has one of that name."""
        signed = subscriptions.encode(subscription, key)
        names = [self._key(f"lease:{subscription.name}")]
        taken = bool(await self._connection.ask(*_hold(names, [subscription.holder, signed, _ms(lease_s)])))
        if taken:
            await self._connection.ask("SADD", self._key("leases"), subscription.name)
            await self._connection.ask("SADD", SITES, self.site)
        return taken

    async def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        name = self._key(f"lease:{subscription.name}")
        await self._connection.ask(*_release([name], [subscription.holder]))

    async def subscriptions(self, key: bytes) -> list[Subscription]:
        """Return the subscriptions whose leases last, by name; those that are not signed with the key are left out."""
        names = sorted(await self._connection.ask("SMEMBERS", self._key("leases")))
        found = []
        for name in names:
            held = await self._connection.ask("GET", self._key(f"lease:{name.decode(errors='replace')}"))
            if held is None:
                await self._connection.ask("SREM", self._key("leases"), name)
                continue
            one = subscriptions.decode(held[HOLDER_CHARACTERS:], key)
            if one is not None and one.site == self.site and one.name == name.decode(errors="replace"):
                found.append(one)
        return found


async def sites(connection: Connection) -> list[str]:
    """Return the sites that have had a subscriber."""
    return sorted(site.decode(errors="replace") for site in await connection.ask("SMEMBERS", SITES))


def _entries(found: Any) -> list[StreamEntry]:
    entries = []
    for entry, fields in found:
        named = dict(pairs(fields or ()))
        entries.append(StreamEntry(entry.decode(), named.get(b"m", b""), named.get(b"s", b"")))
    return entries


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))


