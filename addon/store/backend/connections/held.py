"""Connections that are held, past the bookkeeping of redis-py's pool and pipelines."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import hiredis
import redis.exceptions as errors

from bestbefore.addon.store.backend.connections.pipelined import PipelinedConnection

HELD = 12
"""How many connections of a pool may be held. When all are in use, commands wait for one."""

LARGE_BYTES = 256 * 1024
"""Commands with larger content take the pool's way, which spares little there: redis-py sends it in pieces, so that a
server which refuses it is still read before the connection that it ends is found broken."""


class HeldConnections:
    """Takes some connections from a pool, and sends pipelines on them.

    To take a connection from the pool and give it back costs more processor time than to use it. The pool still owns
    the connections: closing it closes them.

    Commands wait for a connection in the order in which they came, however long that takes: where this process has too
    little processor time, the server is as well as before, and what it has must not be taken for missing. When a
    connection fails, all that wait fail at once.
    """

    def __init__(self, client: Any, patience_s: float) -> None:
        """`client`: a client with a pool, not of a cluster. `patience_s`: how long the server may take for a reply."""
        self._pool = client.connection_pool
        self._conversions: dict[str, Any] = dict(client.response_callbacks)
        """How the replies to some commands are converted."""
        self._patience_s = patience_s
        self._idle: list[PipelinedConnection] = []
        self._held = 0
        self._waiting: deque[asyncio.Future[PipelinedConnection | None]] = deque()
        """Of those that wait: the connection that each is handed; None: it may take one from the pool."""
        self._is_closed = False

    async def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any] | None:
        """Send commands in one pipeline; return their replies, errors of single commands among them.

        None: nothing was sent, and the pool's way must be taken. Raises the errors of redis-py.
        """
        if _are_large(commands):
            return None
        held = self._idle.pop() if self._idle else await self._next()
        try:
            if held is None:
                held = PipelinedConnection(await self._pool.get_connection(), self._patience_s)
            elif not held.is_open:
                held = await self._opened_again(held.connection)
            replies = await held.answers(_packed(commands), len(commands))
        except BaseException as error:
            await self._give_up(held, error)
            raise
        if self._is_closed:
            await held.connection.disconnect(nowait=True)
        self._hand_over(held)
        for i, (command, reply) in enumerate(zip(commands, replies, strict=True)):
            convert = self._conversions.get(command[0])
            if convert is not None and not isinstance(reply, errors.ResponseError):
                replies[i] = convert(reply)
        return replies

    def close(self) -> None:
        """Keep no connection open after its commands; the pool closes those that are open now.

        One that is being made now is not open yet when the pool is closed.
        """
        self._is_closed = True

    async def _next(self) -> PipelinedConnection | None:
        """Return a connection that is free, as soon as there is one; None: one is to be taken from the pool."""
        if self._held < HELD:
            self._held += 1
            return None
        handed: asyncio.Future[PipelinedConnection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(handed)
        try:
            return await handed
        except BaseException:
            if handed.done() and not handed.cancelled() and handed.exception() is None:  # cancelled in the same turn
                self._hand_over(handed.result())
            raise

    def _hand_over(self, held: PipelinedConnection | None) -> None:
        """Let the first that waits have a connection, or take one from the pool; keep it if none waits."""
        while self._waiting:
            handed = self._waiting.popleft()
            if not handed.done():
                handed.set_result(held)
                return
        if held is None:
            self._held -= 1
        else:
            self._idle.append(held)

    async def _give_up(self, held: PipelinedConnection | None, error: BaseException) -> None:
        """Close a connection after an error. One of the server concerns those that wait, too."""
        if isinstance(error, errors.RedisError | OSError) and not isinstance(error, errors.DataError):
            failed, self._waiting = self._waiting, deque()
            for handed in failed:
                if not handed.done():
                    handed.set_exception(error)
        self._hand_over(None)
        if held is not None:
            await held.connection.disconnect(nowait=True)
            await self._pool.release(held.connection)

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
