"""The answers to the simple requests of one connection that copies in memory give at once."""

from collections.abc import Sequence

from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.wire.kept import KeptAnswers
from bestbefore.addon.proxy.mitm.wire.response_bytes import response_bytes
from bestbefore.addon.proxy.mitm.wire.simple_http2 import http2_request
from bestbefore.addon.proxy.mitm.wire.simple_request import FixedServer, SimpleRequest, SimpleRequestReader
from bestbefore.addon.proxy.mitm.wire.written import Written

AT_ONCE_BYTES = 256 * 1024
"""How much is sent in one write. Requests behind it in the same data take mitmproxy's way."""


class WireHits:
    """Answers the simple requests of one connection, as the streams would, from copies in memory."""

    def __init__(self, gateway: Gateway, context: Context, mode: HTTPMode) -> None:
        self._gateway = gateway
        self._context = context
        self._mode = mode
        self._server: FixedServer | None = None
        self._reader = SimpleRequestReader(None)
        self._kept = KeptAnswers[bytes, Written](gateway.kept)
        self.shares = False
        """Whether answers are shared with other connections: only those on which each request names its server, as it
        came from the socket."""
        self.unanswered: tuple[SimpleRequest, float, int] | None = None
        """The simple request behind those that `answer` has answered, when it was read, and its size, bytes."""

    def answer(self, data: bytes, *, may_close: bool = True) -> Written | None:
        """Answer the requests at the beginning of the data; None if the first takes mitmproxy's way.

        `may_close`: whether requests are answered that close the connection.
        """
        self.unanswered = None
        sender = self._gateway.sender(self._context.client) if self.shares else None
        if sender is not None:
            if (shared := self._gateway.shared.get(sender, data)) is not None:
                return shared
        elif (kept := self._kept.get(data)) is not None:
            return kept[1]
        server = self._fixed_server()
        if server != self._server:
            self._server, self._reader = server, SimpleRequestReader(server)
        client = self._context.client
        started_s = self._gateway.monotonic()
        parts, answers, size, end, closes = list[bytes](), list[Answer](), 0, 0, False
        while not closes and end < len(data) and size < AT_ONCE_BYTES:
            simple = self._reader.read(data, end)
            if simple is None or (simple.closes and not may_close):
                break
            answer = self._gateway.hit(simple.request, client, started_s)
            if answer is None:
                self.unanswered = simple, started_s, simple.end - end
                break
            part = response_bytes(answer, simple.request.method)
            parts.append(part)
            answers.append(answer)
            size, end, closes = size + len(part), simple.end, simple.closes
        if not parts:
            return None
        response = b"".join(parts)
        if end == len(data) and len(parts) == 1 and not closes and (repeat := answers[0].repeat) is not None:
            written = Written(response, end, closes, repeat.finish)
            if sender is not None:
                self._gateway.shared.keep(sender, data, repeat, written, len(response))
            else:
                self._kept.keep(data, repeat, written, len(response))
        return Written(response, end, closes, lambda: _finish(answers))

    def forget(self) -> None:
        """Forget the kept answers, and the unanswered request: mitmproxy reads what the client has sent.

        The answers may depend on it.
        """
        self._kept.forget()
        self.unanswered = None

    def answer_http2(self, headers: Sequence[tuple[bytes, bytes]]) -> Answer | None:
        """Answer the request with these fields, which has no content; None if it takes mitmproxy's way."""
        server = self._fixed_server()
        request = None if server is None else http2_request(headers, server)
        return None if request is None else self._gateway.hit(request, self._context.client, self._gateway.monotonic())

    def _fixed_server(self) -> FixedServer | None:
        """Return the server of a tunnel or a reverse proxy, as `destination.settle` finds it."""
        server, client = self._context.server, self._context.client
        if self._mode is not HTTPMode.transparent or not server.address:
            return None
        is_reverse = isinstance(client.proxy_mode, ReverseMode)
        return FixedServer("https" if server.tls else "http", *server.address[:2], is_reverse)


def _finish(answers: Sequence[Answer]) -> None:
    for answer in answers:
        answer.finish(len(answer.body), complete=True)
