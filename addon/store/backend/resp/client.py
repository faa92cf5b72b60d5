"""A client of one server whose commands are pipelined; it connects when it is first used, and again after a loss."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as LostError

from bestbefore.addon.store.backend.resp.pipeline import Pipeline


class PipelinedClient:
    """Sends commands to the server of a client of redis-py, with its settings, on one connection."""

    def __init__(self, client: Redis, patience_s: float) -> None:
        """`patience_s`: how long the server may be silent while it owes replies."""
        self._client = client
        self._patience_s = patience_s
        self._pipeline: Pipeline | None = None
        self._opening: asyncio.Task[Pipeline] | None = None

    async def replies(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the replies to commands as redis-py returns them; one that is an error is not raised.

        Raises redis-py's exceptions for a lost connection, and for malformed arguments.
        """
        pipeline = self._pipeline
        if pipeline is None or not pipeline.is_open:
            pipeline = await self._opened()
        replies = await pipeline.send(commands)
        converters = self._client.response_callbacks
        for i, command in enumerate(commands):
            convert = converters.get(command[0])
            if convert is not None and not isinstance(replies[i], Exception):
                replies[i] = convert(replies[i])
        return replies

    async def _opened(self) -> Pipeline:
        """Return the connection, which callers open together."""
        opening = self._opening
        if opening is None or opening.done():
            opening = self._opening = asyncio.create_task(self._open())
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if opening.cancelled() and not (task is not None and task.cancelling()):
                raise LostError("the connection was closed") from None
            raise

    async def _open(self) -> Pipeline:
        connection = self._client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        self._pipeline = Pipeline(connection, self._patience_s)
        return self._pipeline

    async def close(self) -> None:
        """Close the connection, also one that is being opened."""
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.close()
