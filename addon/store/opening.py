"""Opens the store that the user configured."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.bodies import BodyFiles
from bestbefore.addon.store.backend.connection import PATIENCE_S, Connection
from bestbefore.addon.store.backend.interface import StoreUnusableError, Tombstone
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.server.embedded import START_S, EmbeddedServer, answers, default_store_max
from bestbefore.addon.store.server.statedir import StateDir
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S

HOT_MAX = 16 * 1024 * 1024
COMMAND_START_S = 60.0
"""How long a command, unlike the proxy, waits for a server that it starts."""


async def open_store(
    where: str,
    *,
    clock: Clock,
    proxy: str = "",
    state: Path | None = None,
    clock_mark: str = "real",
    store_max: int | None = None,
    files_max: int | None = None,
    hot_max: int = HOT_MAX,
    keep_s: float = 7 * DAY_S,
    forget_after_s: float = 180 * DAY_S,
    join: bool = False,
    patience_s: float = PATIENCE_S,
    forgotten: Callable[[Tombstone], None] = lambda _: None,
    supervised_socket: Path | None = None,
    processes: int = 1,
    sweeps: bool = True,
) -> Store:
    """Open the store: `embedded` (in `state`), or the URL of a Redis, which may be down.

    `proxy`: the client name at the Redis server. `clock_mark`: the kind of
    clock; a store marked with another is refused. `store_max`, bytes: the maxmemory of an embedded server; of a user's
    Redis, how much this store may take (None: no bound). `files_max`, bytes: how much the files of an embedded store
    may take (None: no bound). `join`: use the server of a proxy that runs on `state`.
    `patience_s`: how long the server may take to answer. `forgotten`: see `Store`. `supervised_socket`: that of
    the embedded server that a supervisor runs on `state` for several processes (`processes`), of which one `sweeps`.
    Must be called in the main thread, with which the embedded server ends.

    Raises StoreInputError (a wrong URL, a refused password, no Redis, another kind of store) and StoreUnusableError
    (the state directory is not writable or in use, or the server does not start).
    """
    joined, files = False, None
    async with AsyncExitStack() as opened:
        if where == "embedded":
            if state is None:
                raise ValueError("an embedded store needs a state directory")
            held = StateDir(state)
            opened.callback(held.close)
            socket = supervised_socket
            if socket is None:
                wait_s = COMMAND_START_S if join else START_S
                server = await _our_server(held, clock, store_max or default_store_max(), wait_s)
                if server is not None:
                    opened.push_async_callback(server.stop)
                joined = server is None
                socket = await _socket_of_another(held, join=join) if server is None else server.socket
            files = BodyFiles(held.bodies, files_max, processes)
            connection = Connection(socket=socket, name=proxy, patience_s=patience_s)
        else:
            connection = Connection(where, name=proxy, patience_s=patience_s)
        opened.push_async_callback(connection.close)
        backend = RedisBackend(connection, clock, clock_mark=clock_mark, forget_after_s=forget_after_s, files=files)
        store = Store(
            backend,
            clock=clock,
            hot_max=hot_max,
            keep_s=keep_s,
            forget_after_s=forget_after_s,
            store_max=store_max if where != "embedded" else None,
            forgotten=forgotten,
            has_peers=processes > 1 or where != "embedded",
        )
        await store.open(sweep=sweeps and not joined)
        backend.closing = opened.pop_all()
    return store


async def start_server(state: StateDir, clock: Clock, store_max: int | None) -> EmbeddedServer:
    """Start the embedded server for several processes. Raises StoreUnusableError."""
    server = await _our_server(state, clock, store_max or default_store_max(), START_S)
    if server is None:
        raise _in_use(state)
    return server


async def _our_server(state: StateDir, clock: Clock, max_bytes: int, wait_s: float) -> EmbeddedServer | None:
    """Start a server on a state directory; None if another process holds the directory."""
    if not state.take():
        return None
    server = EmbeddedServer(state, clock, max_bytes, wait_s=wait_s)
    await server.start()
    return server


async def _socket_of_another(state: StateDir, *, join: bool) -> Path:
    """Return the server's socket of the process that holds the state directory."""
    socket = state.socket()
    if join and socket is not None and await answers(socket):
        return socket
    raise _in_use(state)


def _in_use(state: StateDir) -> StoreUnusableError:
    return StoreUnusableError(
        f"state directory {state.path} is in use by another bestbefore (process {state.holder()})"
    )
