"""The sockets under mitmproxy's connections, which its layers do not reach."""

import asyncio
from typing import Any

from mitmproxy import ctx
from mitmproxy.connection import Client, Connection


async def drained(client: Client) -> None:
    """Wait until the client has taken most of what was sent to it."""
    writer = _writer_to(client, client)
    if writer is not None:
        await writer.drain()


def hear(connection: Connection, client: Client, *, on: bool) -> None:
    """Read from the client, or from an origin for it; or leave what comes in the socket."""
    writer = _writer_to(connection, client)
    transport = writer.transport if isinstance(writer, asyncio.StreamWriter) else None
    if isinstance(transport, asyncio.Transport):
        (transport.resume_reading if on else transport.pause_reading)()


def cut(connection: Connection, client: Client) -> None:
    """Close a client's connection, or one to an origin for it, at once."""
    writer = _writer_to(connection, client)
    if writer is not None:
        writer.close()


def _writer_to(connection: Connection, client: Client) -> Any:
    """What mitmproxy writes to a connection that belongs to a client's; None if there is nothing."""
    handler = ctx.master.addons.get("proxyserver").connections.get(client.id)
    return handler.transports[connection].writer if handler is not None and connection in handler.transports else None
