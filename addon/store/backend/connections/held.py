"""Connections that are held, past the bookkeeping of redis-py's pool and pipelines."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import redis.exceptions as errors
from redis.connection import HiredisRespSerializer
from redis.utils import HIREDIS_AVAILABLE

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
        self._conversions = client.response_callbacks
        """How the replies to some commands are converted."""
        self._patience_s = patience_s
        self._idle: list[Any] = []
        self._held = 0

    async def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any] | None:
        """Send commands in one pipeline; return their replies, errors of single commands among them.

        None: nothing was sent, and the pool's way must be taken. Raises the errors of redis-py.
        """
        if any(isinstance(part, bytes) and len(part) > LARGE_BYTES for command in commands for part in command):
            return None
        if self._idle:
            connection = self._idle.pop()
        elif self._held < HELD:
            self._held += 1
            connection = await self._taken()
        else:
            return None
        try:
            replies, now_s = list[Any](), asyncio.get_running_loop().time
            async with asyncio.timeout(self._patience_s) as limit:
                await self._pool.ensure_connection(connection)  # it connects again if the server has closed it
                await connection.send_packed_command(_packed(connection, commands))
                for command in commands:
                    limit.reschedule(now_s() + self._patience_s)
                    replies.append(await self._reply(connection, command[0]))
        except BaseException:
            self._held -= 1
            await connection.disconnect(nowait=True)  # replies may be unread
            await self._pool.release(connection)
            raise
        self._idle.append(connection)
        return replies

    async def _taken(self) -> Any:
        try:
            return await self._pool.get_connection()
        except BaseException:
            self._held -= 1
            raise

    async def _reply(self, connection: Any, name: str) -> Any:
        try:
            reply = await connection.read_response(timeout=math.inf)  # its time is bounded by the caller
        except errors.ResponseError as error:
            return error
        convert = self._conversions.get(name)
        return reply if convert is None else convert(reply)


def _packed(connection: Any, commands: Sequence[Sequence[Any]]) -> bytes | list[bytes]:
    """Return the bytes of commands."""
    if HIREDIS_AVAILABLE:
        pack = HiredisRespSerializer().pack
        return b"".join([piece for command in commands for piece in pack(*command)])
    packed: list[bytes] = connection.pack_commands(commands)
    return packed
