"""What the answers at the bytes lean on in mitmproxy and asyncio, beyond what the layer does."""

import asyncio
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from mitmproxy import ctx, version
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import Http1Server, Http2Server, HttpLayer

from bestbefore.addon.proxy.mitm.wire.open_http2 import OpenHttp2

KNOWN_VERSIONS = frozenset(("12.2.1", "12.2.2", "12.2.3", "12.3.0", "12.3.1"))
"""The versions of mitmproxy with which this was tested. Under another, all requests take mitmproxy's way."""

UNKNOWN = (
    f"mitmproxy {version.VERSION} is not among the versions that bestbefore was tested with"
    f" ({', '.join(sorted(KNOWN_VERSIONS))}): hits are answered more slowly"
)


def is_known() -> bool:
    """Whether the installed mitmproxy is one that the answers at the bytes were tested with."""
    return version.VERSION in KNOWN_VERSIONS


def is_between_messages(layer: HttpLayer) -> bool:
    """Whether what a client sends next begins a message: all before is read, and answered.

    mitmproxy reads a head only when its state is `read_headers`, after the answer to the last request; a layer or
    stream that waits for something is paused, and then queues events.
    """
    client = layer.context.client
    server = layer.connections.get(client)
    return (
        isinstance(server, Http1Server)
        and not layer.streams
        and not server.buf
        and server.state == server.read_headers
        and client.state is ConnectionState.OPEN
        and layer._paused is None  # noqa: SLF001 - mitmproxy's own subclasses look into it too
        and server._paused is None  # noqa: SLF001
    )


def is_between_frames(layer: HttpLayer) -> bool:
    """Whether what a client sends next over HTTP/2 begins a frame, with no response waiting to be sent."""
    client = layer.context.client
    server = layer.connections.get(client)
    return (
        isinstance(server, Http2Server)
        and OpenHttp2(server.h2_conn).is_idle
        and client.state is ConnectionState.OPEN
        and layer._paused is None  # noqa: SLF001 - as above
        and server._paused is None  # noqa: SLF001
    )


def are_unpaused(layers: Iterable[Layer]) -> bool:
    """Whether no layer waits for anything: one that does queues what comes."""
    return all(layer._paused is None for layer in layers)  # noqa: SLF001 - as above


@dataclass(frozen=True, slots=True)
class ClientSocket:
    """The socket of a client, from which a task of mitmproxy's reads, and to which it writes."""

    transport: asyncio.Transport
    _reader: asyncio.StreamReader
    _handler: Any
    """mitmproxy's `ConnectionHandler`."""

    @property
    def is_read(self) -> bool:
        """Whether mitmproxy has read all data, waits for more, and all that it has written is sent."""
        reader: Any = self._reader
        is_waiting = reader._waiter is not None and not reader._buffer  # noqa: SLF001 - there is no public way
        return is_waiting and not self.transport.get_write_buffer_size()

    @property
    def has_more(self) -> bool:
        """Whether data has come, or the end of it, that mitmproxy has not read."""
        reader: Any = self._reader
        return bool(reader._buffer) or reader._eof  # noqa: SLF001 - as above

    def busy(self) -> AbstractContextManager[None]:
        """Return a context in which the connection does not count as idle."""
        context: AbstractContextManager[None] = self._handler.timeout_watchdog.disarm()
        return context

    def write(self, data: bytes) -> None:
        """Write data, as mitmproxy does; the connection has not been idle then."""
        self._handler.timeout_watchdog.register_activity()
        if not self.transport.is_closing():
            self.transport.write(data)


def socket_of(client: Client) -> ClientSocket | None:
    """Return the socket of a client; None if it has none of asyncio's."""
    handler = ctx.master.addons.get("proxyserver").connections.get(client.id)
    io = None if handler is None else handler.transports.get(client)
    if io is None or not isinstance(io.writer, asyncio.StreamWriter) or not isinstance(io.reader, asyncio.StreamReader):
        return None
    transport = io.writer.transport
    return ClientSocket(transport, io.reader, handler) if isinstance(transport, asyncio.Transport) else None
