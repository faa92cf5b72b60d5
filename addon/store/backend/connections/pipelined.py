"""Pipelines of commands on a connection that redis-py has opened, past its readers, writers and time limits."""

import asyncio
from typing import Any

import hiredis
import redis.exceptions as errors

_INCOMPLETE = object()
"""What hiredis returns while no whole reply has arrived."""


class PipelinedConnection(asyncio.Protocol):
    """Sends one pipeline at a time, and parses its replies as they arrive.

    It stands in the place of asyncio's protocol for streams, of which redis-py reads each reply with a time limit of
    its own: several tasks' turns and a timer for each. redis-py goes on to own the connection, and closes it.
    """

    def __init__(self, connection: Any, patience_s: float) -> None:
        """`connection`: one of redis-py that is connected. `patience_s`: how long the server may take for a reply."""
        self.connection = connection
        self._patience_s = patience_s
        self._loop = asyncio.get_running_loop()
        self._transport = connection._writer.transport  # noqa: SLF001 - there is no public way
        self._streams = self._transport.get_protocol()
        self._reader: Any = hiredis.Reader(
            protocolError=errors.InvalidResponse,
            replyError=connection._parser.parse_error,  # noqa: SLF001 - as above
            notEnoughData=_INCOMPLETE,
        )
        self._waiting: asyncio.Future[list[Any]] | None = None
        self._replies: list[Any] = []
        self._missing = 0
        """How many replies are still to come."""
        self._progress_s = 0.0
        """When the last reply came, or the commands were sent, in the event loop's time."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_lost = False
        self._transport.set_protocol(self)

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent."""
        return not self._is_lost and not self._transport.is_closing()

    async def answers(self, packed: bytes, count: int) -> list[Any]:
        """Send the bytes of so many commands; return their replies, errors of single commands among them.

        Raises the errors of redis-py, and TimeoutError. The connection cannot be used after that, nor after
        cancellation: replies may be unread.
        """
        if not self.is_open:
            raise errors.ConnectionError("the connection was closed")
        self._replies, self._missing, self._progress_s = [], count, self._loop.time()
        self._waiting = self._loop.create_future()
        if self._timer is None:  # one that waits for an earlier pipeline waits for this one too
            self._timer = self._loop.call_at(self._progress_s + self._patience_s, self._check_time)
        self._transport.write(packed)
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def _check_time(self) -> None:
        self._timer = None
        if self._waiting is None or self._waiting.done():  # it may have been answered in this turn of the event loop
            return
        due_s = self._progress_s + self._patience_s
        if self._loop.time() < due_s:
            self._timer = self._loop.call_at(due_s, self._check_time)
        else:
            self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        self._is_lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)

    # Called by asyncio.

    def data_received(self, data: bytes) -> None:
        """Parse replies."""
        if self._waiting is None or self._waiting.done():  # they belong to no command
            self._fail(errors.ConnectionError("the server sent what was not asked for"))
            return
        try:
            self._reader.feed(data)
            while self._missing and (reply := self._reader.gets()) is not _INCOMPLETE:
                if isinstance(reply, Exception) and not isinstance(reply, errors.ResponseError):
                    self._fail(reply)  # it concerns the connection
                    return
                self._replies.append(reply)
                self._missing -= 1
                self._progress_s = self._loop.time()
        except Exception as error:
            self._fail(error)
            return
        if not self._missing:
            self._is_lost = self._reader.has_data()  # as above
            self._waiting.set_result(self._replies)

    def eof_received(self) -> bool | None:
        """Handle the end of the server's data."""
        self._fail(errors.ConnectionError("the server closed the connection"))
        kept_open: bool | None = self._streams.eof_received()
        return kept_open

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection; redis-py may wait for it."""
        self._fail(errors.ConnectionError(f"the connection was lost: {exc}" if exc else "the connection was closed"))
        self._streams.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass it on."""
        self._streams.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._streams.resume_writing()
