"""One server: alone, or a node of a cluster."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis.exceptions as errors
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bestbefore.addon.store.backend.connections.held import HeldConnections
from bestbefore.addon.store.backend.interface import UnwritableError

CONNECTIONS = 16
"""The most connections to one server."""


class Node:
    """A pool of connections to a server, of which some are held."""

    def __init__(self, options: Mapping[str, Any], patience_s: float) -> None:
        """`options`: of redis-py for each connection. `patience_s`: how long the server may take to answer."""
        # redis-py's own retries would delay clients; the store reconnects in the background.
        retry = Retry(NoBackoff(), 0)
        pool = BlockingConnectionPool(**{
            "max_connections": CONNECTIONS, "timeout": patience_s, **options, "retry": retry,
        })
        self.client: Any = Redis.from_pool(pool)
        """The client of redis-py. Its replies are typed Any: it declares each as a union of sync and async forms."""
        self._held = HeldConnections(self.client, patience_s)
        self._wait_ms = max(1, int(patience_s * 500))
        """How long replicas are waited for: less than the server may take to answer."""

    async def answers(self, commands: Sequence[Sequence[Any]], replicas: int = 0) -> list[Any]:
        """Send commands in one pipeline; return their replies, errors of single commands among them.

        `replicas`: how many must have all that was written on the connection. Raises the errors of redis-py, and
        UnwritableError if fewer have.
        """
        if replicas:
            commands = [*commands, ("WAIT", replicas, self._wait_ms)]
        found = await self._held.answers(commands)
        if found is None:
            pipeline = self.client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            found = await pipeline.execute(raise_on_error=False)
        if replicas:
            waited = found.pop()
            if isinstance(waited, Exception):
                raise waited
            if waited < replicas:
                raise UnwritableError(f"NOREPLICAS {waited} of {replicas} replicas have what was written")
        return found

    async def scan(self, pattern: str) -> AsyncIterator[bytes]:
        """Yield the matching keys."""
        async for key in self.client.scan_iter(match=pattern, count=500):
            yield key

    async def nodes(self) -> Sequence["Node"]:
        """Return itself, as a cluster returns its primaries."""
        return [self]

    def beside(self, _key: str) -> "Node":
        """Return the server that has a key."""
        return self

    async def close(self) -> None:
        """Close all connections."""
        self._held.close()
        with suppress(errors.RedisError, OSError):  # it is discarded in any case
            await self.client.aclose()
