"""The connection to a Redis or Valkey server or cluster, and the translation of its errors."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import redis.exceptions as errors
from redis.asyncio.connection import UnixDomainSocketConnection, parse_url

from bestbefore.addon.store.backend.connections.addresses import parse_address
from bestbefore.addon.store.backend.connections.cluster import Cluster, Place
from bestbefore.addon.store.backend.connections.node import Node
from bestbefore.addon.store.backend.connections.sentinels import find_primary
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
PORT = 6379
POOL_EMPTY = "No connection available."
"""By what redis-py's error of a pool without a free connection is known: it has the type of a lost connection."""
LISTEN_S = 5.0
"""How often the connection for subscriptions is checked."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate exceptions of redis-py into those of the store."""
    try:
        yield
    except (errors.RedisError, OSError, TimeoutError) as e:
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
        self._address = parse_address(url) if url is not None else None
        self._patience_s = patience_s
        self._options: dict[str, Any] = {
            "socket_connect_timeout": patience_s,
            "socket_timeout": patience_s,
            "protocol": 2,  # supported by every server
            "client_name": name or None,
        }
        if socket is not None:
            self._options |= {"connection_class": UnixDomainSocketConnection, "path": str(socket)}
        self.shown = self._address.shown if self._address is not None else str(socket)
        self._replicas = self._address.wait if self._address is not None else 0
        self.info: dict[str, Any] = {}
        """A single server's INFO at the last connect; empty for a cluster, and if it is not permitted."""
        self._seeds: list[Place] = []
        """Nodes of the cluster by which it was found last."""
        self._server: Node | Cluster | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether it is connected to a cluster."""
        return isinstance(self._server, Cluster)

    async def open(self) -> None:
        """Connect or reconnect. Raises StoreInputError for a refused password or a server that is no Redis.

        UnavailableError.
        """
        await self.close()
        try:
            self._server = await self._connected()
        except (errors.RedisError, OSError, TimeoutError) as e:
            wrong = _wrong_input(e)
            if wrong is not None:
                raise StoreInputError(f"store {self.shown}: {wrong}: {e}") from None
            raise as_store_error(e) from e

    async def _connected(self) -> Node | Cluster:
        """Connect to a server, or to the cluster that it is in."""
        address = self._address
        options = self._options
        if address is not None:
            named = [parse_url(url) for url in address.urls]
            options = options | named[0]
            places = [(str(one.pop("host", "")), int(one.pop("port", PORT))) for one in named]
            if address.kind == "cluster":
                return await self._find_cluster(places, options)
            if address.kind == "sentinel":
                try:
                    host, port = await find_primary(places, address.service, address.sentinel_user, options)
                except StoreInputError as e:
                    raise StoreInputError(f"store {self.shown}: {e}") from None
                options |= {"host": host, "port": port}
        server = Node(options, self._patience_s)
        try:
            await server.client.ping()
            self.info = await _read_info(server)
            if not self.info.get("cluster_enabled") or address is None or address.kind != "server":
                return server
        except BaseException:
            await server.close()
            raise
        await server.close()
        return await self._find_cluster(places, options)

    async def _find_cluster(self, seeds: Sequence[Place], options: Mapping[str, Any]) -> Cluster:
        try:
            found = await Cluster.find([*seeds, *self._seeds], options, self._patience_s)
        except StoreInputError as e:
            raise StoreInputError(f"store {self.shown}: {e}") from None
        self._seeds, self.info = found.known, {}
        return found

    async def warnings(self) -> list[str]:
        """Return warnings on settings of the server with which histories may be lost."""
        found = []
        async with self._in_use() as server:
            nodes = await server.nodes()
            infos = [await _read_info(node) for node in nodes]
            policies = {str(info.get("maxmemory_policy", "")) for info in infos}
            found = [
                f"its maxmemory-policy {policy} may evict histories: volatile-lru evicts copies alone"
                for policy in sorted(policies)
                if policy.startswith("allkeys-")
            ]
            unkept = [node for node, info in zip(nodes, infos, strict=True) if info.get("aof_enabled") == 0]
            if any([not await _saves(node) for node in unkept]):
                found.append("it keeps nothing on disk (appendonly no): what was learnt is gone when it restarts")
        return found

    async def close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[Node | Cluster]:
        """Yield the server, and translate its exceptions.

        One that has been closed meanwhile is closed again: redis-py leaves open what was being connected then.
        """
        server = self._server
        if server is None:
            raise UnavailableError("not connected")
        try:
            with translated():
                yield server
        finally:
            if server is not self._server:
                await server.close()

    async def ask(self, *command: Any) -> Any:
        """Send one command. Raises UnavailableError, UnwritableError, CommandError."""
        answer = (await self.answers([command]))[0]
        if isinstance(answer, CommandError):
            raise answer
        return answer

    async def answers(self, commands: Sequence[Sequence[Any]], *, is_lasting: bool = False) -> list[Any]:
        """Send commands in one pipeline; the reply of a command that failed alone is a CommandError.

        `is_lasting`: what is written must be kept by as many replicas as the URL says. In a cluster the commands go to
        the nodes that have their keys.
        """
        if not commands:
            return []
        async with self._in_use() as server:
            answers = await server.answers(commands, self._replicas if is_lasting else 0)
        for i, answer in enumerate(answers):
            if isinstance(answer, Exception):
                answers[i] = as_store_error(answer)
                if not isinstance(answers[i], CommandError):
                    raise answers[i] from answer
        return answers

    async def scan(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """Yield the matching keys in parts, from all nodes of a cluster."""
        part: list[bytes] = []
        async with self._in_use() as server:
            async for key in server.scan(pattern):
                part.append(key)
                if len(part) >= 500:
                    yield part
                    part = []
        yield part

    async def listen(
        self,
        on_message: Mapping[str, Callable[[bytes], None]],
        on_lost: Callable[[UnavailableError], None],
        *,
        beside: str = "",
    ) -> None:
        """Subscribe to channels: call `on_message` of a channel for each of its messages, in their order.

        `on_lost` is called once when the connection is lost. `beside`: in a cluster, a key whose node is asked.

        Raises UnavailableError if it cannot subscribe.
        """
        if self._server is None:
            raise UnavailableError("not connected")
        pubsub = self._server.beside(beside).client.pubsub()
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


async def _read_info(server: Node) -> dict[str, Any]:
    try:
        info: dict[str, Any] = await server.client.info()
    except errors.ResponseError:  # not permitted to this user
        return {}
    return info


async def _saves(server: Node) -> bool:
    try:
        return bool((await server.client.config_get("save")).get("save"))
    except errors.RedisError:
        return False


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
  local wanted = types[i] or types[#types]
  local found = wanted ~= '' and redis.call('TYPE', key).ok
  if found and found ~= wanted and found ~= 'none' then
    return redis.error_reply('WRONGTYPE a key of the script')
  end
end
"""


def script(source: str, *types: str) -> Script:
    """Return a function from keys and arguments to the command that runs a Lua script.

    `types`: of its keys; further keys have the last. A key of another type is an error before anything is written.
    They are asked for, a command a key: give none, or an empty one for a key, where the script reads the key before it
    writes, since such a command fails too.
    The source, which is short, is sent each time, so that no server must have loaded it, also after a restart or
    failover.
    """
    if types:
        source = _CHECK % ", ".join(f"'{name}'" for name in types) + source
    return lambda names, arguments: ["EVAL", source, len(names), *names, *arguments]

