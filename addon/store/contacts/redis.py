"""The leases of contacts in Redis or Valkey; the keys are those of `keys`."""

from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any

from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.interface import KeptCopy
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.contacts.keeper import AskedLease, BegunContact, ContactName, EndedLease

_begin = script((files("bestbefore.addon.store.contacts") / "begin.lua").read_text("utf-8"))
_if_mine = """
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and holder ~= ARGV[1] .. '!' then return 0 end
"""
_take = script(
    """
if ARGV[3] == '0' and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local set = redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])  -- a full server refuses it, but can be read
if type(set) ~= 'table' or not set.ok then
  local holder = redis.call('GET', KEYS[1])
  if not holder then return 0 end
  if holder ~= ARGV[1] and holder ~= ARGV[1] .. '!' then  -- else the command was sent again after a lost connection
    if string.sub(holder, -1) ~= '!' then
      redis.pcall('APPEND', KEYS[1], '!')
      redis.call('PUBLISH', ARGV[4], ARGV[5] .. ' awaited')
    end
    return 0
  end
end
local now = redis.call('TIME')
return now[1] * 1000 + math.floor(now[2] / 1000)"""
)
_renew = script(_if_mine + "return redis.call('PEXPIRE', KEYS[1], ARGV[2])")
_end = script(
    _if_mine
    + """
redis.call('DEL', KEYS[1])
if holder ~= ARGV[1] then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
return 1"""
)
AWAITED, SHAREABLE, OWN = b"awaited", b"shareable", b"own"
"""What is published of a contact, after its digest; when it has ended, with the time of receipt, ms, after it."""
LONGEST_TIME = 16
"""Fewer digits does each time have."""


def taking(lease: AskedLease) -> list[Any]:
    """Return the command that takes a lease together with a look-up, if there are no copies.

    Its reply is the time, ms; 0 if the lease was not taken.
    """
    names = [keys.of_contact(*lease.name), *keys.of_object(lease.name.url, "copies")]
    arguments = [lease.token, _ms(lease.lease_s), int(lease.despite_copies), keys.CONTACTS_CHANNEL, lease.name.digest]
    return _take(names, arguments)


class RedisContacts:
    """A `ContactKeeper` in Redis or Valkey."""

    def __init__(
        self, commands: RepairingCommands, decode: Callable[[str, Sequence[bytes]], Awaitable[list[KeptCopy]]]
    ) -> None:
        """`decode` returns the copies of a URL from the values of its key."""
        self._connection = commands
        self._decode = decode
        self.on_awaited: Callable[[str], None] = lambda _: None
        self.on_ended: Callable[[str, bool, float | None], None] = lambda _digest, _is_shareable, _received_s: None

    def receive(self, encoded: bytes) -> None:
        """Receive a message of the channel; ignore malformed ones."""
        raw, word, time_ms = (*encoded.split(b" "), b"", b"")[:3]
        digest = raw.decode(errors="replace")
        if word == AWAITED:
            self.on_awaited(digest)
        elif word in (SHAREABLE, OWN) and not time_ms:
            self.on_ended(digest, word == SHAREABLE, None)
        elif word in (SHAREABLE, OWN) and time_ms.isdigit() and len(time_ms) < LONGEST_TIME:
            self.on_ended(digest, word == SHAREABLE, int(time_ms) / 1000)

    async def begin(self, name: ContactName, token: str, lease_s: float) -> BegunContact:
        names = [keys.of_contact(*name), *keys.of_object(name.url, "copies")]
        arguments: list[Any] = [token, _ms(lease_s), keys.CONTACTS_CHANNEL, name.digest]
        taken, remaining_ms, variants, time_ms = await self._connection.ask(*_begin(names, arguments))
        copies = await self._decode(name.url, variants)
        return BegunContact(bool(taken), int(remaining_ms) / 1000, copies, int(time_ms) / 1000)

    async def renew(self, leases: Sequence[tuple[ContactName, str]], lease_s: float) -> None:
        await self._connection.ask_all(
            [_renew([keys.of_contact(*name)], [token, _ms(lease_s)]) for name, token in leases]
        )

    async def end(self, leases: Sequence[EndedLease]) -> None:
        await self._connection.ask_all(
            [_end([keys.of_contact(*one.name)], [one.token, keys.CONTACTS_CHANNEL, _ended(one)]) for one in leases]
        )


def _ended(lease: EndedLease) -> bytes:
    """Return what is published when a lease ends."""
    words = [lease.name.digest.encode(), SHAREABLE if lease.is_shareable else OWN]
    return b" ".join(words if lease.received_s is None else [*words, b"%d" % int(lease.received_s * 1000)])


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))
