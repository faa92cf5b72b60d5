"""Connections that mitmproxy has closed: aborted after a while if the peer does not read the remaining data."""

import asyncio

from mitmproxy.connection import Client, Connection

from bestbefore.addon.proxy.mitm import transports

LINGER_S = 20.0
"""How long a peer has to read the remaining data; real seconds. (asyncio would keep it in memory without end.)"""


class Lingering:
    """The sockets of open connections, kept because mitmproxy forgets them when it closes a connection."""

    def __init__(self) -> None:
        self._sockets: dict[str, asyncio.Transport] = {}
        self.closed_count = 0
        """How many connections have been closed."""

    @property
    def has_unsent(self) -> bool:
        """Whether a peer has not read all that was sent to it."""
        return any(socket.get_write_buffer_size() for socket in self._sockets.values())

    def opened(self, connection: Connection, client: Client) -> None:
        """Remember the socket of a new connection: of a client, or to an origin on its behalf."""
        transport = transports.transport_of(connection, client)
        if transport is not None:
            self._sockets[connection.id] = transport

    def closed(self, connection: Connection) -> None:
        """Close the socket of a connection that mitmproxy has closed.

        mitmproxy 12.2.3 leaves the socket open if more data had arrived when it decided to close it.
        """
        self.closed_count += 1
        transport = self._sockets.pop(connection.id, None)
        if transport is not None:
            transport.close()
            if transport.get_write_buffer_size():
                asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
