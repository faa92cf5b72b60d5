"""The answer to a simple request that is no hit, at the socket of a client.

It is asked of the gateway and sent as the streams do it (`mitm.stream`), without mitmproxy's layers, hooks and tasks,
which take a third of the processor time of a miss.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from mitmproxy.connection import Client

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.interim import MAX_FORWARDED
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.stream.sending import PIECE_BYTES, WHOLE_BYTES, logger, pieces
from bestbefore.addon.proxy.mitm.wire.internals import ClientSocket
from bestbefore.addon.proxy.mitm.wire.response_bytes import LAST_CHUNK, chunk_bytes, head_bytes, response_bytes
from bestbefore.addon.rfc9111.message import Head


class SocketExchange:
    """One request and its answer."""

    def __init__(
        self, gateway: Gateway, client: Client, socket: ClientSocket, method: str, encode: Callable[[bytes], bytes]
    ) -> None:
        """`encode` returns what is sent for a part of the answer."""
        self._gateway = gateway
        self._client = client
        self._socket = socket
        self._encode = encode
        self._method = method
        self._interim = MAX_FORWARDED
        """How many interim responses may still be forwarded."""
        self._early: Answer | None = None
        """The answer, if it was sent before all was done for it."""
        self.is_gone = False
        """Whether the client has disconnected."""

    async def run(self, pending: Pending) -> bool:
        """Answer the request; whether the connection can carry another."""
        pending.context.ready = self._send_early
        with self._socket.busy():
            answer = await self._gateway.answer(pending, self._send_interim, None)
            self._interim = 0
            if self._early is not None:
                return await self._end_early(self._early, answer)
            if self.is_gone:
                await self._abandon(answer, 0)
                return False
            is_complete = await self._send(answer)
            return is_complete and answer.head.status != 400

    def _send_interim(self, head: Head) -> None:
        if self._interim and not self.is_gone:
            self._interim -= 1
            self._write(head_bytes(head, self._method)[0])

    def _send_early(self, answer: Answer) -> bool:
        """Send an answer before all is done; False if it is long, closes the connection, or the client has left."""
        if answer.chunks is not None or len(answer.body) > PIECE_BYTES or answer.head.status == 400 or self.is_gone:
            return False
        self._interim = 0
        self._write(response_bytes(answer, self._method))
        self._early = answer
        return True

    async def _end_early(self, early: Answer, answer: Answer) -> bool:
        """End the exchange with an answer that was sent early; `answer` is another one after a fault."""
        early.finish(len(early.body), complete=True)
        if answer is early:
            return True
        await self._abandon(answer, 0)
        return False

    def _write(self, part: bytes) -> None:
        self._socket.write(self._encode(part))

    async def _send(self, answer: Answer) -> bool:
        """Send an answer; False if that fails."""
        if answer.head.status == 400:  # as `sending.framed` does
            answer.head = replace(answer.head, fields=answer.head.fields.replaced("Connection", "close"))
        if answer.chunks is not None or len(answer.body) > WHOLE_BYTES:
            return await self._send_chunks(answer, answer.chunks or pieces(answer.body))
        self._write(response_bytes(answer, self._method))
        is_complete = len(answer.body) <= PIECE_BYTES or await self._is_taken()
        answer.finish(len(answer.body), complete=is_complete)
        return is_complete

    async def _send_chunks(self, answer: Answer, chunks: AsyncGenerator[bytes]) -> bool:
        """Send the head and the content as it arrives, no faster than the client reads; False if either end fails."""
        head, is_chunked = head_bytes(answer.head, self._method)
        sent = 0
        self._write(head)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    if self.is_gone:
                        break
                    self._write(chunk_bytes(chunk, is_chunked=is_chunked))
                    sent += len(chunk)
                    await self._gateway.drained(self._client)
        except Exception as error:
            # The head has been sent, so the connection must end: the client must not take the content for complete.
            if not isinstance(error, ConnectionError):
                logger.exception("an answer was interrupted: this is a bug in bestbefore")
            answer.finish(sent, complete=False)
            return False
        if is_chunked and not self.is_gone:
            self._write(LAST_CHUNK)
        answer.finish(sent, complete=not self.is_gone)
        return not self.is_gone

    async def _is_taken(self) -> bool:
        """Wait until the client has read most of what was sent to it; False if it disconnects before."""
        try:
            await self._gateway.drained(self._client)
        except ConnectionError:
            return False
        return not self.is_gone

    async def _abandon(self, answer: Answer, sent: int) -> None:
        if answer.chunks is not None:
            async with aclosing(answer.chunks):
                pass
        answer.finish(sent, complete=False)
