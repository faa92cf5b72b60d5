"""The protocol of a client's socket, which answers simple requests before mitmproxy reads the data."""

import asyncio
import logging
from collections.abc import Callable

from mitmproxy.connection import Client

from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.wire.internals import ClientSocket, socket_of
from bestbefore.addon.proxy.mitm.wire.socket_exchange import SocketExchange
from bestbefore.addon.proxy.mitm.wire.written import AtSocket

logger = logging.getLogger(__name__)

HELD_BYTES = 64 * 1024
"""How much may have been read behind a request that is being answered; then no more is read."""


class HitProtocol(asyncio.Protocol):
    """Passes on all events of a socket but the data of requests that are answered here.

    asyncio's reader, mitmproxy's tasks and its layers take longer than such an answer.
    """

    def __init__(
        self,
        socket: ClientSocket,
        inner: asyncio.Protocol,
        answers: AtSocket,
        exchange: Callable[[Pending], SocketExchange],
    ) -> None:
        """`inner`: the protocol that passes data to mitmproxy. `exchange` begins to answer a request."""
        self._socket = socket
        self.inner = inner
        self._answers = answers
        self._begin = exchange
        self._exchange: SocketExchange | None = None
        """Answers a request, while it does."""
        self._task: asyncio.Task[bool] | None = None
        self._held = b""
        """What was read behind the request that is being answered."""
        self._has_ended = False
        """Whether the client has ended its data meanwhile."""

    def data_received(self, data: bytes) -> None:
        """Answer the requests at the beginning of the data; pass on the rest."""
        if self._exchange is not None:
            self._held += data
            if len(self._held) > HELD_BYTES:
                self._socket.transport.pause_reading()
            return
        if self._socket.is_read:
            if (written := self._answers.hits(data)) is not None:
                self._socket.write(written.response)
                written.finish()
                if written.end == len(data):
                    return
                data = data[written.end :]
            if (unanswered := self._answers.unanswered()) is not None:
                self._ask(unanswered.pending, data[unanswered.size :])
                return
        self.inner.data_received(data)

    def ask(self, pending: Pending) -> bool:
        """Answer a request that mitmproxy has read; False if more has come, which it would read meanwhile."""
        if self._exchange is not None or self._socket.has_more or self._socket.transport.is_closing():
            return False
        self._ask(pending, b"")
        return True

    def _ask(self, pending: Pending, behind: bytes) -> None:
        """Answer a request, which needs the store or the origin, before the data behind it."""
        self._held = behind
        self._exchange = self._begin(pending)
        self._task = asyncio.get_running_loop().create_task(self._exchange.run(pending))
        self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[bool]) -> None:
        """Go on with the data behind the request."""
        self._exchange = self._task = None
        held, self._held = self._held, b""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a request could not be answered: this is a bug in bestbefore", exc_info=error)
        if task.cancelled() or error is not None or not task.result():
            self._socket.transport.close()
        if self._socket.transport.is_closing():
            return
        if held:
            self.data_received(held)
        if len(self._held) <= HELD_BYTES:
            self._socket.transport.resume_reading()
        if self._has_ended:
            self._has_ended = False
            self.inner.eof_received()

    def eof_received(self) -> bool | None:
        """Pass it on, when the request that is being answered is over."""
        if self._exchange is None:
            return self.inner.eof_received()
        self._exchange.is_gone = self._has_ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        if self._exchange is not None:
            self._exchange.is_gone = True
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass it on."""
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self.inner.resume_writing()


def install(gateway: Gateway, client: Client, answers: AtSocket) -> None:
    """Answer requests at the socket of a client, if it has one of asyncio's.

    The last answers count: those of a tunnel.
    """
    socket = socket_of(client)
    if socket is not None:
        current = socket.transport.get_protocol()
        assert isinstance(current, asyncio.Protocol)
        inner = current.inner if isinstance(current, HitProtocol) else current

        def exchange(pending: Pending) -> SocketExchange:
            return SocketExchange(gateway, client, socket, pending.context.request.method, answers.encode)

        socket.transport.set_protocol(HitProtocol(socket, inner, answers, exchange))


def ask(client: Client, pending: Pending) -> bool:
    """Answer a request of a client at its socket, as `HitProtocol.ask` does; False if that is not installed."""
    socket = socket_of(client)
    protocol = None if socket is None else socket.transport.get_protocol()
    return isinstance(protocol, HitProtocol) and protocol.ask(pending)
