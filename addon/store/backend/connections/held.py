"""Connections that are held, past the bookkeeping of redis-py's pool and pipelines."""

import asyncio
from collections.abc import Sequence
from typing import Any

import hiredis
import redis.exceptions as errors

from bestbefore.addon.store.backend.connections.pipelined import PipelinedConnection

HELD = 8
"""How many connections of a pool may be held. When all are in use, commands take the pool's way."""

LARGE_BYTES = 256 * 1024
"""Commands with larger content take the pool's way, which spares little there: redis-py sends it in pieces, so that a
server which refuses it is still read before the connection that it ends is found broken."""


class HeldConnections:
    """Takes some connections from a pool, and sends pipelines on them.

    To take a connection from the pool and give it back costs more processor time than to use it. The pool still owns
    the connections: closing it closes them.
    """

    def __init__(self, client: Any, patience_s: float) -> None:
        """`client`: a client with a pool, not of a cluster. `patience_s`: how long the server may take for a reply."""
        self._pool = client.connection_pool
        self._conversions: dict[str, Any] = dict(client.response_callbacks)
        """How the replies to some commands are converted."""
        self._patience_s = patience_s
        self._idle: list[PipelinedConnection] = []
        self._held = 0

    async def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any] | None:
        """Send commands in one pipeline; return their replies, errors of single commands among them.

        None: nothing was sent, and the pool's way must be taken. Raises the errors of redis-py.
        """
        if _are_large(commands):
            return None
        if self._idle:
            held = self._idle.pop()
        elif self._held < HELD:
            self._held += 1
            held = await self._taken()
        else:
            return None
        try:
            if not held.is_open:
                held = await self._opened_again(held.connection)
            replies = await held.answers(_packed(commands), len(commands))
        except BaseException:
            self._held -= 1
            await held.connection.disconnect(nowait=True)
            await self._pool.release(held.connection)
            raise
        self._idle.append(held)
        for i, (command, reply) in enumerate(zip(commands, replies, strict=True)):
            convert = self._conversions.get(command[0])
            if convert is not None and not isinstance(reply, errors.ResponseError):
                replies[i] = convert(reply)
        return replies

    async def _taken(self) -> PipelinedConnection:
        try:
            return PipelinedConnection(await self._pool.get_connection(), self._patience_s)
        except BaseException:
            self._held -= 1
            raise

    async def _opened_again(self, connection: Any) -> PipelinedConnection:
        """Connect again: the server has closed the connection."""
        async with asyncio.timeout(self._patience_s):
            await connection.disconnect(nowait=True)
            await self._pool.ensure_connection(connection)
        return PipelinedConnection(connection, self._patience_s)


def _are_large(commands: Sequence[Sequence[Any]]) -> bool:
    for command in commands:
        for part in command:
            if type(part) is bytes and len(part) > LARGE_BYTES:
                return True
    return False


def _packed(commands: Sequence[Sequence[Any]]) -> bytes:
    """Return the bytes of commands. Raises DataError for what cannot be sent."""
    try:
        return b"".join([hiredis.pack_command(tuple(command)) for command in commands])
    except TypeError as error:
        raise errors.DataError(str(error)) from error
