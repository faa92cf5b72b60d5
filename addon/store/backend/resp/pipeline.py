"""A connection on which all commands are pipelined.

redis-py's asyncio client gives each command a connection of its own for the time of the round trip, with a lock, two
timers and a task: half a millisecond of processor time, several times for each request that the store is asked for.
Here the commands of one turn of the event loop are one write on one connection, whose replies come in order.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as SlowError

from bestbefore.addon.store.backend.resp.commands import packed
from bestbefore.addon.store.backend.resp.reader import ReplyReader


class Pipeline(asyncio.Protocol):
    """A connection to one server, opened and authenticated by redis-py."""

    def __init__(self, connection: AbstractConnection, patience_s: float) -> None:
        """`connection`: connected, idle, and used by nothing else from now on.

        `patience_s`: how long the server may be silent while it owes replies.
        """
        self._connection = connection
        self._patience_s = patience_s
        self._loop = asyncio.get_running_loop()
        self._reader = ReplyReader()
        self._waiting: deque[_Batch] = deque()
        """The commands whose replies are missing, in order."""
        self._unsent: list[bytes] = []
        self._heard_s = 0.0
        """When the server sent data last, or began to owe a reply, in the event loop's time."""
        self._timer: asyncio.TimerHandle | None = None
        self._lost: RedisError | None = None
        writer = connection._writer  # noqa: SLF001 - redis-py has no other way to its transport
        assert writer is not None
        self._transport: asyncio.WriteTransport = writer.transport
        self._transport.set_protocol(self)

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent."""
        return self._lost is None and not self._transport.is_closing()

    async def send(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands, and return their replies; an error that is a reply is an exception, which is not raised.

        Raises redis-py's ConnectionError and TimeoutError; DataError and UnicodeEncodeError for malformed arguments.
        """
        if self._lost is not None:
            raise self._lost
        parts = [part for command in commands for part in packed(command)]
        if not self._waiting:
            self._heard_s = self._loop.time()
            if self._timer is None:
                self._timer = self._loop.call_later(self._patience_s, self._check)
        if not self._unsent:
            self._loop.call_soon(self._write)
        self._unsent += parts
        batch = _Batch(self._loop.create_future(), len(commands))
        self._waiting.append(batch)
        return await batch.replies

    def _write(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self.is_open:
            self._transport.write(b"".join(unsent))

    def _check(self) -> None:
        """Close the connection if the server has been silent for too long."""
        self._timer = None
        if not self._waiting:
            return
        remaining_s = self._heard_s + self._patience_s - self._loop.time()
        if remaining_s > 0:
            self._timer = self._loop.call_later(remaining_s, self._check)
        else:
            self.close(SlowError("the server does not answer"))

    def close(self, error: RedisError | None = None) -> None:
        """Close the connection; commands whose replies are missing fail with this error."""
        if self._lost is not None:
            return
        self._lost = error or LostError("the connection was closed")
        if self._timer is not None:
            self._timer.cancel()
        waiting, self._waiting = self._waiting, deque()
        for batch in waiting:
            if not batch.replies.done():
                batch.replies.set_exception(self._lost)
        self._transport.abort()
        with suppress(RedisError, OSError):
            self._connection._close()  # type: ignore[no-untyped-call]  # noqa: SLF001 - `disconnect` is a coroutine

    # Called by asyncio.

    def data_received(self, data: bytes) -> None:
        """Pass replies to the callers that wait for them."""
        self._heard_s = self._loop.time()
        try:
            replies = self._reader.feed(data)
        except RedisError as error:
            self.close(error)
            return
        for reply in replies:
            if not self._waiting:
                self.close(LostError("the server sent a reply to no command"))
                return
            batch = self._waiting[0]
            batch.found.append(reply)
            if len(batch.found) == batch.size:
                self._waiting.popleft()
                if not batch.replies.done():  # else the caller was cancelled
                    batch.replies.set_result(batch.found)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the commands whose replies are missing."""
        self.close(LostError(str(exc) if exc else "the server closed the connection"))


class _Batch:
    """Commands that were sent together."""

    __slots__ = ("found", "replies", "size")

    def __init__(self, replies: asyncio.Future[list[Any]], size: int) -> None:
        self.replies = replies
        self.size = size
        self.found: list[Any] = []
        """The replies so far."""
