"""Ends asyncio servers of tests with all their connections, so that no socket is left for the garbage collector."""

import asyncio
import inspect
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

PATIENCE_S = 30.0
TURNS = 1000


class Aborted(Protocol):
    """A server's side of a connection."""

    def abort(self) -> None:
        """Close it at once."""


async def end(server: asyncio.Server, connections: Iterable[Aborted]) -> None:
    """Close a server and what it has accepted."""
    # What was accepted in this turn of the loop becomes a connection in the next. When the server is closed it cannot,
    # and asyncio leaves its socket open.
    for _ in range(TURNS):
        if not any(map(_is_accepted, asyncio.all_tasks())):
            break
        await asyncio.sleep(0)
    server.close()
    for connection in connections:
        connection.abort()
    if sys.version_info >= (3, 13):
        server.abort_clients()  # those too whose TLS was not agreed on
    with suppress(TimeoutError):
        await asyncio.wait_for(server.wait_closed(), PATIENCE_S)


def _is_accepted(task: "asyncio.Task[object]") -> bool:
    """Whether this is asyncio's task that is about to make a connection."""
    made = task.get_coro()
    return (
        inspect.iscoroutine(made)
        and inspect.getcoroutinestate(made) == inspect.CORO_CREATED
        and "accept_connection" in made.__qualname__
    )
