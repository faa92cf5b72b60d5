"""Connections that mitmproxy is done with, ended also if their peer does not take what is left for it."""

import asyncio

from mitmproxy.connection import Client, Connection

from bestbefore.addon.proxy.mitm import transports

LINGER_S = 20.0
"""How long a peer has to take it; real seconds. (asyncio would wait for ever, and hold it in memory.)"""


class Lingering:
    """The sockets of open connections, by which they are found once mitmproxy has dropped them."""

    def __init__(self) -> None:
        self._sockets: dict[str, asyncio.Transport] = {}

    def opened(self, connection: Connection, client: Client) -> None:
        """A connection of a client, or one to an origin for it, is there."""
        transport = transports.transport_of(connection, client)
        if transport is not None:
            self._sockets[connection.id] = transport

    def left(self, connection: Connection) -> None:
        """mitmproxy is done with it.

        mitmproxy 12.2.3 leaves the socket open if it decided to close it while more data was at hand.
        """
        transport = self._sockets.pop(connection.id, None)
        if transport is not None:
            transport.close()
            if transport.get_write_buffer_size():
                asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
