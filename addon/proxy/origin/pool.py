"""The pool of connections to origins: which may be reused, when, and how many may be open."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bestbefore.addon.proxy.access.reach import Reach
from bestbefore.addon.proxy.origin.connection import OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigins
from bestbefore.addon.rules import Trust

QUIET_S = 0.2
"""A connection is reused only after it has been quiet for this time.

Data that an origin sends after a complete response would be taken for the next response. It may come late, if the
origin waits for its own backends. If it comes within this time, there is no exchange, and the connection is closed. The
cost is more open connections: as many as there are exchanges with an origin in a fifth of a second.
"""
IDLE_S = 15.0
"""How long an idle connection is kept: shorter than the idle time-out of most origins."""
EXPIRY_INTERVAL_S = 1.0
"""How often such connections are looked for at most."""
MAX_IDLE = 256
"""The most idle connections to one origin: with `QUIET_S`, so many exchanges in a fifth of a second. Requests that
cannot be repeated add connections but take none."""
MAX_REQUESTS = 256
"""The most requests on one connection: their URLs are kept meanwhile, as unexpected data makes all doubtful. That is
most of what an idle connection costs: 99 KB for 1,000 URLs of 47 characters, 25 KB for 256."""
MAX_OPEN = 1024


class PoolKey(NamedTuple):
    """The key of a connection: connections of the same key are interchangeable."""

    reach: Reach
    scheme: str
    host: str
    port: int
    trust: Trust = Trust()
    """By which the server's certificate was verified."""


class Pool:
    """The idle connections, the longest idle first, and the number of all connections."""

    def __init__(
        self,
        max_open: int = MAX_OPEN,
        on_unexpected_data: Callable[[Sequence[str]], object] = lambda _urls: None,
        unsound: UnsoundOrigins | None = None,
    ) -> None:
        """Create an empty pool.

        `on_unexpected_data` is called with the requests of a connection that carried unexpected data, except the first:
        their responses may belong to other requests. `unsound`: None: no origin is known to be unsound.
        """
        self._loop = asyncio.get_running_loop()
        self._idle: dict[PoolKey, deque[OriginConnection]] = {}
        self._open: set[OriginConnection] = set()
        self._opening = 0
        self._max_open = max_open
        self._expiring: asyncio.TimerHandle | None = None
        self._closed = asyncio.Event()
        self._on_unexpected_data = on_unexpected_data
        self._unsound = unsound or UnsoundOrigins(self._loop.time)

    @property
    def open(self) -> int:
        """Return the number of connections, including idle ones."""
        return len(self._open) + self._opening

    def is_unsound(self, key: PoolKey) -> bool:
        """Whether connections with this key must not be reused."""
        return key in self._unsound

    def take(self, key: PoolKey) -> OriginConnection | None:
        """Take an idle connection from the pool; None if there is none."""
        if self.is_unsound(key):  # another worker has found it so, else there would be none
            self._abort_idle(key)
        idle = self._idle.get(key)
        while idle:
            connection = idle[0]
            if self._loop.time() < connection.idle_since_s + QUIET_S:
                return None
            idle.popleft()
            if connection.is_open and connection.is_silent():
                return connection
            connection.abort()
        return None

    def put(self, key: PoolKey, connection: OriginConnection) -> None:
        """Put a connection whose exchange has ended into the pool, or close it if it may not be reused."""
        is_used_up = len(connection.urls) >= MAX_REQUESTS or len(self._idle.get(key, ())) >= MAX_IDLE
        if not connection.is_open or is_used_up or self.is_unsound(key):
            connection.abort()
            return
        self._idle.setdefault(key, deque()).append(connection)
        if self._expiring is None:  # one timer for all: one for each use of a connection would be thousands
            self._expiring = self._loop.call_later(IDLE_S, self._expire)

    def _expire(self) -> None:
        """Close the connections that have been idle for too long, and look again when the next one has."""
        now_s = self._loop.time()
        for key, idle in list(self._idle.items()):
            while idle and idle[0].idle_since_s + IDLE_S <= now_s:
                connection = idle[0]
                self._forget(key, connection)
                connection.abort()
        longest_s = min((idle[0].idle_since_s for idle in self._idle.values() if idle), default=None)
        due_s = None if longest_s is None else max(longest_s + IDLE_S, now_s + EXPIRY_INTERVAL_S)
        self._expiring = None if due_s is None else self._loop.call_at(due_s, self._expire)

    def _forget(self, key: PoolKey, connection: OriginConnection) -> None:
        idle = self._idle.get(key, deque())
        if connection in idle:
            idle.remove(connection)
        if not idle:
            self._idle.pop(key, None)

    def _abort_idle(self, key: PoolKey) -> None:
        for connection in list(self._idle.pop(key, ())):
            connection.abort()

    async def reserve_place(self, within_s: float) -> None:
        """Reserve a place for a new connection, which `add` or `release_place` ends. Raises OriginError."""
        try:
            async with asyncio.timeout(within_s):
                while self.open >= self._max_open and not self._close_longest_idle():
                    self._closed.clear()
                    await self._closed.wait()
        except TimeoutError:
            raise OriginError(Failure.UNREACHABLE, "too many connections to origins are open") from None
        self._opening += 1

    def _close_longest_idle(self) -> bool:
        longest = min(
            ((idle[0].idle_since_s, key) for key, idle in self._idle.items() if idle), default=None, key=lambda p: p[0]
        )
        if longest is None:
            return False
        connection = self._idle[longest[1]][0]
        self._forget(longest[1], connection)
        self._open.discard(connection)
        connection.abort()
        return True

    def release_place(self) -> None:
        """Release a reserved place: the connection was not opened."""
        self._opening -= 1
        self._closed.set()

    def add(self, key: PoolKey, connection: OriginConnection) -> None:
        """Add a new connection, which takes the reserved place until it is closed."""
        self._opening -= 1
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._connection_closed(key, connection))

    def _connection_closed(self, key: PoolKey, connection: OriginConnection) -> None:
        self._open.discard(connection)
        self._forget(key, connection)
        self._closed.set()
        if connection.had_unexpected_data:
            self._unsound.add(key)
            self._abort_idle(key)
            self._on_unexpected_data(connection.urls[1:] if connection.was_displaced else ())

    async def close(self) -> None:
        """Close all connections."""
        if self._expiring is not None:
            self._expiring.cancel()
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(asyncio.shield(connection.closed) for connection in connections))
