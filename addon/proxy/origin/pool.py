"""Connections to origins between exchanges: which may be used again, when, and how many there are."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bestbefore.addon.proxy.access.reach import Reach
from bestbefore.addon.proxy.origin.connection import OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigins

QUIET_S = 0.2
"""A connection is used again only after it has been quiet for so long.

What an origin sends after a complete answer would be taken for the next one. It comes late, by the time that the
origin's own backends take; what comes within this time meets no exchange, and ends the connection. The price is that
more connections are open: a fifth of a second's worth of exchanges with an origin.
"""
IDLE_S = 15.0
"""How long a connection waits to be used again: shorter than most origins close theirs."""
IDLE_AT_MOST = 128
"""Of one origin. Requests that cannot be repeated bring connections and take none."""
OPEN_AT_MOST = 1024


class PoolKey(NamedTuple):
    """The key of a connection: connections of the same key are interchangeable."""

    reach: Reach
    scheme: str
    host: str
    port: int


class Pool:
    """Idle connections, the longest idle first, and the number of all."""

    def __init__(
        self,
        open_at_most: int = OPEN_AT_MOST,
        on_surplus: Callable[[Sequence[str]], object] = lambda _urls: None,
        unsound: UnsoundOrigins | None = None,
    ) -> None:
        """Make an empty pool.

        `on_surplus` is called with the requests of a connection on which more came than was asked for, except the
        first: the answers to these may belong to another request. `unsound`: None: none are known yet.
        """
        self._loop = asyncio.get_running_loop()
        self._idle: dict[PoolKey, deque[OriginConnection]] = {}
        self._open: set[OriginConnection] = set()
        self._opening = 0
        self._open_at_most = open_at_most
        self._closed = asyncio.Event()
        self._on_surplus = on_surplus
        self._unsound = unsound or UnsoundOrigins(self._loop.time)

    @property
    def open(self) -> int:
        """Return how many connections there are, idle ones included."""
        return len(self._open) + self._opening

    def is_unsound(self, key: PoolKey) -> bool:
        """Whether its connections are to be used once only."""
        return key in self._unsound

    def take(self, key: PoolKey) -> OriginConnection | None:
        """A connection that may carry another exchange; None if there is none."""
        idle = self._idle.get(key)
        while idle:
            connection = idle[0]
            if self._loop.time() < connection.quiet_since_s + QUIET_S:
                return None
            idle.popleft()
            if connection.is_open and connection.is_silent():
                return connection
            connection.abort()
        return None

    def put(self, key: PoolKey, connection: OriginConnection) -> None:
        """Keep a connection whose exchange is over, if it may carry another."""
        if not connection.is_open or self.is_unsound(key) or len(self._idle.get(key, ())) >= IDLE_AT_MOST:
            connection.abort()
            return
        self._idle.setdefault(key, deque()).append(connection)
        self._loop.call_later(IDLE_S, self._expire, key, connection, connection.quiet_since_s)

    def _expire(self, key: PoolKey, connection: OriginConnection, since_s: float) -> None:
        if connection.quiet_since_s == since_s and connection in self._idle.get(key, ()):
            self._forget(key, connection)
            connection.abort()

    def _forget(self, key: PoolKey, connection: OriginConnection) -> None:
        idle = self._idle.get(key, deque())
        if connection in idle:
            idle.remove(connection)
        if not idle:
            self._idle.pop(key, None)

    async def make_room(self, within_s: float) -> None:
        """Reserve a place for one more connection, which `opened` or `not_opened` takes. Raises OriginError."""
        try:
            async with asyncio.timeout(within_s):
                while self.open >= self._open_at_most and not self._close_longest_idle():
                    self._closed.clear()
                    await self._closed.wait()
        except TimeoutError:
            raise OriginError(Failure.UNREACHABLE, "too many connections to origins are open") from None
        self._opening += 1

    def _close_longest_idle(self) -> bool:
        longest = min(
            ((idle[0].quiet_since_s, key) for key, idle in self._idle.items() if idle), default=None, key=lambda p: p[0]
        )
        if longest is None:
            return False
        connection = self._idle[longest[1]][0]
        self._forget(longest[1], connection)
        self._open.discard(connection)
        connection.abort()
        return True

    def not_opened(self) -> None:
        """The reserved place is not needed."""
        self._opening -= 1
        self._closed.set()

    def opened(self, key: PoolKey, connection: OriginConnection) -> None:
        """The connection takes the reserved place, until it is closed."""
        self._opening -= 1
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._connection_closed(key, connection))

    def _connection_closed(self, key: PoolKey, connection: OriginConnection) -> None:
        self._open.discard(connection)
        self._forget(key, connection)
        self._closed.set()
        if connection.had_surplus:
            self._unsound.add(key)
            for other in list(self._idle.pop(key, ())):
                other.abort()
            self._on_surplus(connection.urls[1:] if connection.was_displaced else ())

    async def close(self) -> None:
        """Close all connections."""
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(asyncio.shield(connection.closed) for connection in connections))
