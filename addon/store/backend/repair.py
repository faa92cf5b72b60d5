"""Commands with repair: a key of a wrong type is removed, and the command repeated."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from bestbefore.addon.store.backend.connection import Connection, script
from bestbefore.addon.store.backend.interface import CommandError
from bestbefore.addon.store.backend.keys import type_of
from bestbefore.addon.store.cache.faults import Faults, short

_remove_unless = script("""
local found = redis.call('TYPE', KEYS[1]).ok
if found == ARGV[1] or found == 'none' then return '' end
redis.call('DEL', KEYS[1])
return found""")


class RepairingCommands:
    """Sends commands through a connection. A command that fails because of a key's wrong type is sent again."""

    def __init__(self, connection: Connection, faults: Faults) -> None:
        """Wrap a connection. Each repair is counted as a fault of kind `key`."""
        self._connection = connection
        self._faults = faults
        self.removed: Callable[[str], Awaitable[None]] | None = None
        """Called with each removed key, before the command is sent again."""

    async def ask(self, *command: Any) -> Any:
        """Send one command. Raises UnavailableError, UnwritableError, CommandError."""
        try:
            return await self._connection.ask(*command)
        except CommandError:
            return (await self.ask_all([command]))[0]

    async def ask_all(self, commands: Sequence[Sequence[Any]], *, is_lasting: bool = False) -> list[Any]:
        """Send commands in a pipeline; return their replies. Raises UnavailableError, UnwritableError, CommandError.

        `is_lasting`: replicas must have what is written, if the URL of the store says so.
        """
        answers = await self._connection.answers(commands, is_lasting=is_lasting)
        failed = [i for i, answer in enumerate(answers) if isinstance(answer, CommandError)]
        if failed:
            repaired = {key for key in {k for i in failed for k in _keys(commands[i])} if await self._repair(key)}
            again = [
                i
                for i, command in enumerate(commands)
                if not repaired.isdisjoint(_keys(command)) or "WRONGTYPE" in str(answers[i])  # repaired by another
            ]
            sent = [commands[i] for i in again]
            for i, answer in zip(again, await self._connection.answers(sent, is_lasting=is_lasting), strict=True):
                answers[i] = answer
        for answer in answers:
            if isinstance(answer, CommandError):
                raise answer
        return answers

    async def _repair(self, key: str) -> bool:
        """Remove a key whose type does not fit its name; whether the key is gone."""
        wanted = type_of(key)
        if wanted is None:
            return False
        found = await self._connection.ask(*_remove_unless([key], [wanted]))
        if not found:
            return False
        kind = found.decode(errors="replace")
        self._faults.add("key", f"the store had a {kind} as {short(key)}, not a {wanted}: it was removed")
        if self.removed is not None:
            await self.removed(key)
        return True

    def scan(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """Yield keys as `Connection.scan` does."""
        return self._connection.scan(pattern)


def _keys(command: Sequence[Any]) -> Iterator[str]:
    """Yield the keys in a command."""
    names = command[3 : 3 + command[2]] if command[0] == "EVAL" else command[1:2]
    for name in names:
        try:
            yield name.decode() if isinstance(name, bytes) else str(name)
        except UnicodeDecodeError:
            continue
