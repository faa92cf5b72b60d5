"""The connection to a Redis or Valkey server or cluster, and the translation of its errors."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis.exceptions as errors
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.connection import UnixDomainSocketConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bestbefore.addon.store.backend.connections.held import HeldConnections
from bestbefore.addon.store.backend.interface import (
    BusyError,
    CommandError,
    FullError,
    StoreInputError,
    UnavailableError,
    UnwritableError,
)

log = logging.getLogger("bestbefore.store")

PATIENCE_S = 2.0
"""How long a server may take to accept a connection (half a second on a busy machine), and to reply, also with some MB:
a client waits that could be served without the store."""
CONNECTIONS = 16
POOL_EMPTY = "No connection available."
"""By what redis-py's error of a pool without a free connection is known: it has the type of a lost connection."""
LISTEN_S = 5.0
"""How often the connection for subscriptions is checked."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate exceptions of redis-py into those of the store."""
    try:
        yield
    except (errors.RedisError, errors.RedisClusterException, OSError, TimeoutError) as e:
        raise as_store_error(e) from e
    except TypeError as e:
        # asyncio (at least in Python 3.13.0) raises this on writing to a connection that has just been closed.
        raise UnavailableError("the connection was closed") from e


def as_store_error(e: Exception) -> Exception:
    """Return the store's exception for one of redis-py."""
    text = str(e) or type(e).__name__
    if isinstance(e, errors.OutOfMemoryError) or "OOM command not allowed" in text:
        return FullError("it has reached its maxmemory")
    if "MISCONF" in text:
        return UnwritableError(f"it cannot write to its disk: {text}")
    refusals = ("READONLY", "NOPERM", "NOREPLICAS", "ACL failure in script")
    if isinstance(e, errors.ReadOnlyError | errors.NoPermissionError) or any(word in text for word in refusals):
        return UnwritableError(text)
    if isinstance(e, errors.DataError) or (type(e) is errors.ResponseError and not _of_server(text)):
        return CommandError(text)
    return BusyError("all connections to it are in use") if text == POOL_EMPTY else UnavailableError(text)


def _of_server(text: str) -> bool:
    """Whether an error concerns the server rather than one command: BUSY, NOREPLICAS and the like.

    redis-py has removed the code ERR from messages, so those without a code concern a command.
    """
    code = text.partition(" ")[0]
    return code.isalpha() and code.isupper() and code != "WRONGTYPE"


EXPECTED = "expected `embedded`, redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://... or unix:///PATH"


def checked_url(url: str) -> str:
    """Return the URL, if it is valid for Redis. Raises StoreInputError."""
    scheme, shown = url.partition("://")[0], _without_password(url)
    if scheme not in ("redis", "rediss", "unix"):
        raise StoreInputError(f"store {shown!r}: {EXPECTED}")
    try:
        options, database = parse_url(url), urlsplit(url).path.strip("/")
        # This parses the options in the URL; it does not connect yet.
        BlockingConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, errors.RedisError) as e:
        raise StoreInputError(f"store {shown!r}: {str(e).rpartition('__init__() ')[2]}; {EXPECTED}") from None
    if not options.get("path" if scheme == "unix" else "host"):
        raise StoreInputError(f"store {shown!r}: it has no {'path' if scheme == 'unix' else 'host'}; {EXPECTED}")
    if scheme != "unix" and database and not database.isdigit():
        raise StoreInputError(f"store {shown!r}: {database!r} is not a database number; {EXPECTED}")
    return url


def _without_password(url: str) -> str:
    before, at, after = url.rpartition("@")
    scheme, slashes, user = before.partition("://")
    return f"{scheme}{slashes}{user.partition(':')[0]}:***{at}{after}" if at and ":" in user else url


def _wrong_input(e: Exception) -> str | None:
    """Return which input of the user is wrong; None if the error has another cause."""
    text = str(e)
    if "NOAUTH" in text or "Authentication required" in text:
        return "the server asks for a password"
    if isinstance(e, errors.AuthenticationError):
        return "the server refuses the password"
    if isinstance(e, errors.InvalidResponse):
        return "this is no Redis or Valkey server"
    if "DB index" in text or "Invalid Database" in text:
        return "the server has no such database"
    return None


class Connection:
    """A pool of connections for commands, pipelines and scripts, and one for subscriptions.

    Replies are typed Any: redis-py declares each as a union of its sync and async forms.
    """

    def __init__(
        self, url: str | None = None, *, socket: Path | None = None, name: str = "", patience_s: float = PATIENCE_S
    ) -> None:
        """Create a connection to a URL or a Unix socket.

        `name`: our name in the server's list of clients. `patience_s`: how long the server may take to accept a
        connection, and to answer.

                Raises StoreInputError for what is no URL of a Redis.
        """
        self._url = checked_url(url) if url is not None else None
        self._patience_s = patience_s
        self._options: dict[str, Any] = {
            "socket_connect_timeout": patience_s,
            "socket_timeout": patience_s,
            "protocol": 2,  # supported by every server
            "client_name": name or None,
        }
        if socket is not None:
            self._options |= {"connection_class": UnixDomainSocketConnection, "path": str(socket)}
        self.shown = _without_password(url) if url is not None else str(socket)
        self.info: dict[str, Any] = {}
        """The server's INFO at the last connect; empty if it is not permitted."""
        self._client: Any = None
        self._plain: Any = None
        self._held: HeldConnections | None = None
        """None: not connected, or to a cluster."""
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect or reconnect. Raises StoreInputError for a refused password or a server that is no Redis.

        UnavailableError.
        """
        await self.close()
        # redis-py's own retries would delay clients; the store reconnects in the background.
        retry = Retry(NoBackoff(), 0)
        options = self._options | {"max_connections": CONNECTIONS, "timeout": self._patience_s, "retry": retry}
        pool = BlockingConnectionPool.from_url(self._url, **options) if self._url else BlockingConnectionPool(**options)
        self._client = self._plain = Redis.from_pool(pool)
        try:
            await self._plain.ping()
            self.info = await self._read_info()
            if self.info.get("cluster_enabled") and self._url is not None:
                self._client = RedisCluster.from_url(self._url, retry=Retry(NoBackoff(), 1), **self._options)
                await self._client.initialize()
            else:
                self._held = HeldConnections(self._plain, self._patience_s)
        except (errors.RedisError, errors.RedisClusterException, OSError, TimeoutError) as e:
            wrong = _wrong_input(e)
            if wrong is not None:
                raise StoreInputError(f"store {self.shown}: {wrong}: {e}") from None
            raise as_store_error(e) from e

    async def _read_info(self) -> dict[str, Any]:
        try:
            info: dict[str, Any] = await self._plain.info()
        except errors.ResponseError:  # not permitted to this user
            return {}
        return info

    async def warnings(self) -> list[str]:
        """Return warnings on settings of the server with which histories may be lost."""
        found = []
        policy = str(self.info.get("maxmemory_policy", ""))
        if policy.startswith("allkeys-"):
            found.append(f"its maxmemory-policy {policy} may evict histories: volatile-lru evicts copies alone")
        if self.info.get("aof_enabled") == 0 and not await self._saves():
            found.append("it keeps nothing on disk (appendonly no): what was learnt is gone when it restarts")
        return found

    async def _saves(self) -> bool:
        try:
            return bool((await self._plain.config_get("save")).get("save"))
        except errors.RedisError:
            return False

    async def close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        clients = {id(c): c for c in (self._client, self._plain) if c is not None}
        self._client = self._plain = self._held = None
        for client in clients.values():
            await _close(client)

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[Any]:
        """Yield the client, and translate its exceptions.

        A client that has been closed meanwhile is closed again: redis-py leaves open what was being connected then.
        """
        client = self._client
        if client is None:
            raise UnavailableError("not connected")
        try:
            with translated():
                yield client
        finally:
            if client is not self._client:
                await _close(client)

    async def ask(self, *command: Any) -> Any:
        """Send one command. Raises UnavailableError, UnwritableError."""
        async with self._in_use() as client:
            answers = None if self._held is None else await self._held.answers([command])
            if answers is None:
                return await client.execute_command(*command)
            if isinstance(answers[0], Exception):
                raise answers[0]
            return answers[0]

    async def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands in one pipeline; the reply of a command that failed alone is a CommandError."""
        if not commands:
            return []
        async with self._in_use() as client:
            answers = None if self._held is None else await self._held.answers(commands)
            if answers is None:
                pipeline = client.pipeline(transaction=False)
                for command in commands:
                    pipeline.execute_command(*command)
                answers = await pipeline.execute(raise_on_error=False)
        for i, answer in enumerate(answers):
            if isinstance(answer, Exception):
                answers[i] = as_store_error(answer)
                if not isinstance(answers[i], CommandError):
                    raise answers[i] from answer
        return answers

    async def scan(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """Yield the matching keys in parts, from all nodes of a cluster."""
        part: list[bytes] = []
        async with self._in_use() as client:
            async for key in client.scan_iter(match=pattern, count=500):
                part.append(key)
                if len(part) >= 500:
                    yield part
                    part = []
        yield part

    async def listen(
        self, on_message: Mapping[str, Callable[[bytes], None]], on_lost: Callable[[UnavailableError], None]
    ) -> None:
        """Subscribe to channels: call `on_message` of a channel for each of its messages, in their order.

        `on_lost` is called once when the connection is lost.

        Raises UnavailableError if it cannot subscribe.
        """
        pubsub = self._plain.pubsub()
        try:
            with translated():
                await pubsub.subscribe(*on_message)
                for _ in on_message:
                    await pubsub.get_message(timeout=self._patience_s)  # the confirmation: no message is missed now
        except BaseException:  # also if the task is cancelled
            await pubsub.aclose()
            raise
        self._listener = asyncio.create_task(self._pass_on(pubsub, on_message, on_lost))

    async def _pass_on(
        self,
        pubsub: Any,
        on_message: Mapping[str, Callable[[bytes], None]],
        on_lost: Callable[[UnavailableError], None],
    ) -> None:
        silent = False
        try:
            with translated():
                while True:
                    message = await pubsub.get_message(timeout=max(LISTEN_S, self._patience_s))
                    if message is not None:
                        silent = False
                        if message["type"] == "message":
                            on_message[message["channel"].decode()](message["data"])
                    elif silent:  # a connection may break without an event
                        break
                    else:
                        silent = True
                        await pubsub.ping()
            on_lost(UnavailableError(f"{self.shown} no longer answers"))
        except UnavailableError as e:
            on_lost(e)
        finally:
            await pubsub.aclose()


async def _close(client: Any) -> None:
    with suppress(errors.RedisError, OSError):  # it is discarded in any case
        await client.aclose()
        for node in client.get_nodes() if isinstance(client, RedisCluster) else ():  # its aclose acts only once
            await node.disconnect()


def pairs(flat: Any) -> list[tuple[bytes, bytes]]:
    """Return the pairs in a reply, which redis-py gives as a dict, as pairs or as a flat list."""
    if isinstance(flat, dict):
        return list(flat.items())
    if flat and isinstance(flat[0], tuple | list):
        return [(pair[0], pair[1]) for pair in flat]
    return list(zip(flat[::2], flat[1::2], strict=True))


type Script = Callable[[Sequence[str], Sequence[Any]], list[Any]]


_CHECK = """
local types = {%s}
for i, key in ipairs(KEYS) do
  local found, wanted = redis.call('TYPE', key).ok, types[i] or types[#types]
  if wanted and found ~= wanted and found ~= 'none' then
    return redis.error_reply('WRONGTYPE a key of the script')
  end
end
"""


def script(source: str, *types: str) -> Script:
    """Return a function from keys and arguments to the command that runs a Lua script.

    `types`: of its keys; further keys have the last. A key of another type is an error before anything is written.
    The source, which is short, is sent each time, so that no server must have loaded it, also after a restart or
    failover.
    """
    source = _CHECK % ", ".join(f"'{name}'" for name in types) + source
    return lambda names, arguments: ["EVAL", source, len(names), *names, *arguments]

