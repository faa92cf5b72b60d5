"""The listener for hubs: callbacks at unguessable paths, and nothing else."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol, Self, override

from aiohttp import web

from bestbefore.addon.engine.signals.subscription import PushProof, PushVerifier
from bestbefore.addon.proxy.start_error import StartError

MOST_CONNECTIONS = 64
CONNECTION_S = 60.0
"""How long a connection may last, in real seconds."""
MOST_BYTES = 16 << 20
"""The longest content of a push."""
_CHUNK_BYTES = 64 * 1024

_logger = logging.getLogger(__name__)
_logger.addFilter(lambda record: not (record.exc_info and record.exc_info[0]))  # one for each malformed request


class Callbacks(Protocol):
    """What answers the hubs."""

    def secret_of(self, path: str) -> Awaitable[str | None]:
        """Return the secret of the subscription with this path; None if there is none."""

    def verify(self, path: str, query: Mapping[str, str]) -> Awaitable[str | None]:
        """Return the challenge that confirms an intent of ours; empty for a denial; None if the intent is not ours."""

    def pushed(self, path: str, proof: PushProof) -> Awaitable[None]:
        """Take a push."""


class HubListener:
    """A running listener. Must be closed."""

    def __init__(self, runner: web.AppRunner) -> None:
        self._runner = runner
        self._server: asyncio.Server | None = None

    @classmethod
    async def start(cls, host: str, port: int, callbacks: Callbacks) -> Self:
        """Listen. Raises StartError if that is not possible."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", _handler(callbacks))
        application.on_response_prepare.append(_say_little)
        # Content is what was signed, as it is sent. Some hubs send the Content-Encoding of the topic with content that
        # they have decoded (flask-websub 0.4.1 does).
        runner = web.AppRunner(
            application, access_log=None, logger=_logger, shutdown_timeout=1.0, keepalive_timeout=5,
            auto_decompress=False,
        )  # fmt: skip
        await runner.setup()
        listener = cls(runner)
        try:
            listener._server = await asyncio.get_running_loop().create_server(listener._protocol, host, port)
        except OSError as error:
            await runner.cleanup()
            reason = "the port is in use" if error.errno == errno.EADDRINUSE else (error.strerror or str(error))
            raise StartError(f"cannot listen for hubs on {host}:{port}: {reason}") from None
        return listener

    @property
    def port(self) -> int:
        """The port; it differs from the configured one if that was 0."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop listening, and close all connections within a second."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    def _protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= MOST_CONNECTIONS:
            return _Refusing()
        handler = server()
        asyncio.get_running_loop().call_later(CONNECTION_S, handler.force_close)
        return handler


class _Refusing(asyncio.Protocol):
    """Closes a connection at once."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _handler(callbacks: Callbacks) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        path = request.path.rpartition("/")[2]
        secret = await callbacks.secret_of(path)
        if secret is None:
            return web.Response(status=404)
        if request.method == "GET":
            challenge = await callbacks.verify(path, request.query)
            return web.Response(status=404) if challenge is None else web.Response(text=challenge)
        if request.method != "POST":
            return web.Response(status=405, headers={"Allow": "GET, POST"})
        verifier, size = PushVerifier(secret, request.headers.get("X-Hub-Signature")), 0
        pieces: AsyncIterator[bytes] = request.content.iter_chunked(_CHUNK_BYTES)
        async for piece in pieces:
            size += len(piece)
            if size > MOST_BYTES:
                return web.Response(status=413)
            verifier.add(piece)
        await callbacks.pushed(path, verifier.proof())
        return web.Response(status=202)

    return answer


async def _say_little(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "bestbefore"  # and no versions
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
