"""The protocol of a client's socket, which answers hits before mitmproxy reads the data."""

import asyncio

from mitmproxy.connection import Client

from bestbefore.addon.proxy.mitm.wire.internals import ClientSocket, socket_of
from bestbefore.addon.proxy.mitm.wire.written import HitAnswerer


class HitProtocol(asyncio.Protocol):
    """Passes on all events of a socket but the data of requests that are answered at once.

    asyncio's reader, mitmproxy's tasks and its layers take longer than such an answer.
    """

    def __init__(self, socket: ClientSocket, inner: asyncio.Protocol, answer: HitAnswerer) -> None:
        """`inner`: the protocol that passes data to mitmproxy."""
        self._socket = socket
        self.inner = inner
        self._answer = answer

    def data_received(self, data: bytes) -> None:
        """Answer the hits at the beginning of the data; pass on the rest."""
        if self._socket.is_read and (written := self._answer(data)) is not None:
            self._socket.write(written.response)
            written.finish()
            if written.end == len(data):
                return
            data = data[written.end :]
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self.inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass it on."""
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self.inner.resume_writing()


def install(client: Client, answer: HitAnswerer) -> None:
    """Answer hits at the socket of a client, if it has one of asyncio's. The last answerer counts: a tunnel's own."""
    socket = socket_of(client)
    if socket is not None:
        current = socket.transport.get_protocol()
        assert isinstance(current, asyncio.Protocol)
        inner = current.inner if isinstance(current, HitProtocol) else current
        socket.transport.set_protocol(HitProtocol(socket, inner, answer))
