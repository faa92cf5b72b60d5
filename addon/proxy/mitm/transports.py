"""The sockets under mitmproxy's connections, which its layers do not reach."""

import asyncio
from typing import Any

from mitmproxy import ctx
from mitmproxy.connection import Client, Connection

IDLE_S = 5.0
"""For how long nothing must have happened on a connection that is closed in favour of another."""


async def drained(client: Client) -> None:
    """Wait until the client has taken most of what was sent to it."""
    writer = _writer_to(client, client)
    if writer is not None:
        await writer.drain()


def set_reading(connection: Connection, client: Client, *, on: bool) -> None:
    """Read from the client, or from an origin for it; or leave what comes in the socket."""
    transport = transport_of(connection, client)
    if transport is not None:
        (transport.resume_reading if on else transport.pause_reading)()


def transport_of(connection: Connection, client: Client) -> asyncio.Transport | None:
    """asyncio's side of a connection."""
    writer = _writer_to(connection, client)
    transport = writer.transport if isinstance(writer, asyncio.StreamWriter) else None
    return transport if isinstance(transport, asyncio.Transport) else None


def cut(connection: Connection, client: Client) -> None:
    """Close a client's connection, or one to an origin for it, at once."""
    writer = _writer_to(connection, client)
    if writer is not None:
        writer.close()


def _writer_to(connection: Connection, client: Client) -> Any:
    """Return the writer of a connection that belongs to a client's; None if there is none."""
    handler = ctx.master.addons.get("proxyserver").connections.get(client.id)
    return handler.transports[connection].writer if handler is not None and connection in handler.transports else None


def connected() -> int:
    """Return how many clients are connected."""
    return len(_handlers())


def say(client: Client, data: bytes) -> None:
    """Send this to a client that mitmproxy has not begun to serve."""
    writer = _writer_to(client, client)
    if writer is not None:
        writer.write(data)


def close_idle() -> bool:
    """Close the connection of a client that has waited longest for nothing; False if there is none.

    That is one on which nothing happened for `IDLE_S`, that nothing is being done for, and that has no connection to
    an origin.
    """
    handlers = _handlers().values()
    until_s = max(handler.timeout_watchdog.last_activity for handler in handlers) - IDLE_S  # the newest's is now
    idle = [
        handler
        for handler in handlers
        if handler.timeout_watchdog.last_activity < until_s
        and not handler.timeout_watchdog.blocker
        and list(handler.transports) == [handler.client]
    ]
    if not idle:
        return False
    longest = min(idle, key=lambda handler: handler.timeout_watchdog.last_activity)
    cut(longest.client, longest.client)
    return True


def _handlers() -> dict[Any, Any]:
    """mitmproxy's, of all connections of clients."""
    found: dict[Any, Any] = ctx.master.addons.get("proxyserver").connections
    return found
