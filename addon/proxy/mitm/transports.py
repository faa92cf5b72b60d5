"""The sockets of mitmproxy's connections, to which its layers have no access."""

import asyncio
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx
from mitmproxy.connection import Client, Connection

from bestbefore.addon.proxy.mitm.memory.cycles import release_connection

UNSENT_BYTES = 64 * 1024
"""How much may have been written for a client that does not read before responses wait for it."""
IDLE_S = 5.0
"""How long a connection must have been idle to be closed in favour of another."""


async def drained(client: Client) -> None:
    """Wait until the client has read most of what was sent to it."""
    writer = _writer_to(client, client)
    if writer is not None:
        await writer.drain()


def is_behind(client: Client) -> bool:
    """Whether more than `UNSENT_BYTES` of what was written for a client are not on their way yet."""
    transport = transport_of(client, client)
    return transport is not None and transport.get_write_buffer_size() > UNSENT_BYTES


def set_reading(connection: Connection, client: Client, *, on: bool) -> None:
    """Resume or pause reading from the client, or from an origin on its behalf."""
    transport = transport_of(connection, client)
    if transport is not None:
        (transport.resume_reading if on else transport.pause_reading)()


def transport_of(connection: Connection, client: Client) -> asyncio.Transport | None:
    """Return the asyncio transport of a connection; None if it has none."""
    writer = _writer_to(connection, client)
    transport = writer.transport if isinstance(writer, asyncio.StreamWriter) else None
    return transport if isinstance(transport, asyncio.Transport) else None


def reader_of(client: Client) -> asyncio.StreamReader | None:
    """Return the asyncio reader of a client's connection; None if it has none."""
    handler = _handlers().get(client.id)
    reader = handler.transports[client].reader if handler is not None and client in handler.transports else None
    return reader if isinstance(reader, asyncio.StreamReader) else None


def close(connection: Connection, client: Client) -> None:
    """Close a client's connection, or one to an origin on its behalf, at once."""
    writer = _writer_to(connection, client)
    if writer is not None:
        writer.close()


def close_all(chosen: Callable[[Client], bool]) -> None:
    """Close the connections of these clients at once."""
    for handler in list(_handlers().values()):
        if chosen(handler.client):
            close(handler.client, handler.client)


def _writer_to(connection: Connection, client: Client) -> Any:
    """Return the asyncio writer of a connection that was opened by or for a client; None if there is none."""
    handler = ctx.master.addons.get("proxyserver").connections.get(client.id)
    return handler.transports[connection].writer if handler is not None and connection in handler.transports else None


def release(client: Client) -> None:
    """Release the memory of a client's connection that has ended, as `cycles.release_connection` does."""
    handler = _handlers().get(client.id)
    if handler is not None:
        release_connection(handler)


def client_count() -> int:
    """Return how many clients are connected."""
    return len(_handlers())


def send(client: Client, data: bytes) -> None:
    """Send data to a client that mitmproxy has not begun to serve."""
    writer = _writer_to(client, client)
    if writer is not None:
        writer.write(data)


def close_idle() -> bool:
    """Close the client connection that has been idle longest; False if there is none.

    A connection is idle if it had no event for `IDLE_S`, no request in progress and no connection to an origin.
    """
    handlers = _handlers().values()
    until_s = max(handler.timeout_watchdog.last_activity for handler in handlers) - IDLE_S  # the latest is now
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
    close(longest.client, longest.client)
    return True


def _handlers() -> dict[Any, Any]:
    """Return mitmproxy's handlers of all client connections."""
    if not hasattr(ctx, "master"):  # mitmproxy is not running yet
        return {}
    found: dict[Any, Any] = ctx.master.addons.get("proxyserver").connections
    return found
