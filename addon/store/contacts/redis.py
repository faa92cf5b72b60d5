"""The leases of contacts in Redis or Valkey; the keys are those of `keys`."""

from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any

from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.interface import KeptCopy
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.contacts.keeper import AskedLease, BegunContact, ContactName, EndedLease

_begin = script((files("bestbefore.addon.store.contacts") / "begin.lua").read_text("utf-8"), "string", "hash")
_if_mine = """
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and holder ~= ARGV[1] .. '!' then return 0 end
"""
_take = script(
    """
if ARGV[3] == '0' and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local set = redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])  -- a full server refuses it, but can be read
if type(set) == 'table' and set.ok then return 1 end
local holder = redis.call('GET', KEYS[1])  -- the command may be sent again after a lost connection
return (holder == ARGV[1] or holder == ARGV[1] .. '!') and 1 or 0""",
    "string",
    "hash",
)
_renew = script(_if_mine + "return redis.call('PEXPIRE', KEYS[1], ARGV[2])", "string")
_end = script(
    _if_mine
    + """
redis.call('DEL', KEYS[1])
if holder ~= ARGV[1] then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
return 1""",
    "string",
)
AWAITED, SHAREABLE, OWN = b"awaited", b"shareable", b"own"
"""What is published of a contact, after its digest."""


def taking(lease: AskedLease) -> list[Any]:
    """Return the command that takes a lease together with a look-up, if there are no copies; its reply is 1 or 0."""
    names = [keys.of_contact(*lease.name), *keys.of_object(lease.name.url, "copies")]
    return _take(names, [lease.token, _ms(lease.lease_s), int(lease.despite_copies)])


class RedisContacts:
    """A `ContactKeeper` in Redis or Valkey."""

    def __init__(
        self, commands: RepairingCommands, decode: Callable[[str, Sequence[bytes]], Awaitable[list[KeptCopy]]]
    ) -> None:
        """`decode` returns the copies of a URL from the values of its key."""
        self._connection = commands
        self._decode = decode
        self.on_awaited: Callable[[str], None] = lambda _: None
        self.on_ended: Callable[[str, bool], None] = lambda _digest, _is_shareable: None

    def receive(self, encoded: bytes) -> None:
        """Receive a message of the channel; ignore malformed ones."""
        raw, _, word = encoded.partition(b" ")
        digest = raw.decode(errors="replace")
        if word == AWAITED:
            self.on_awaited(digest)
        elif word in (SHAREABLE, OWN):
            self.on_ended(digest, word == SHAREABLE)

    async def begin(self, name: ContactName, token: str, lease_s: float) -> BegunContact:
        names = [keys.of_contact(*name), *keys.of_object(name.url, "copies")]
        arguments: list[Any] = [token, _ms(lease_s), keys.CONTACTS_CHANNEL, name.digest]
        taken, remaining_ms, variants = await self._connection.ask(*_begin(names, arguments))
        return BegunContact(bool(taken), int(remaining_ms) / 1000, await self._decode(name.url, variants))

    async def renew(self, leases: Sequence[tuple[ContactName, str]], lease_s: float) -> None:
        await self._connection.ask_all(
            [_renew([keys.of_contact(*name)], [token, _ms(lease_s)]) for name, token in leases]
        )

    async def end(self, leases: Sequence[EndedLease]) -> None:
        words = [b"%s %s" % (one.name.digest.encode(), SHAREABLE if one.is_shareable else OWN) for one in leases]
        await self._connection.ask_all(
            [
                _end([keys.of_contact(*one.name)], [one.token, keys.CONTACTS_CHANNEL, word])
                for one, word in zip(leases, words, strict=True)
            ]
        )


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))
