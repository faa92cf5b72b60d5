"""mitmproxy's HTTP layer, with streams that the gateway answers, and with bounds on buffered data."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.client_tls import EndingClientTLS
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.http2 import CalmHttp2Server
from bestbefore.addon.proxy.mitm.memory import bounds
from bestbefore.addon.proxy.mitm.request_reader import StrictHttp1Server
from bestbefore.addon.proxy.mitm.stream.stream import CachingStream
from bestbefore.addon.proxy.mitm.wire import internals, open_http2
from bestbefore.addon.proxy.mitm.wire.hits import WireHits
from bestbefore.addon.proxy.mitm.wire.tls_hits import TlsHits, tls_of
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, HitAnswerer, Unanswered, Written

Commands = layer.CommandGenerator[Any]
UnansweredFinder = Callable[[EndingClientTLS], Unanswered | None]

MERGED_BYTES = 64 * 1024
"""Up to this size, data for one connection is merged into one write. Copying more costs more than a write."""


class CachingHttpLayer(HttpLayer):
    """The requests of one client connection, and the connections that mitmproxy opens for them."""

    def __init__(self, context: Context, mode: HTTPMode, gateway: Gateway) -> None:
        super().__init__(context, mode)
        self._gateway = gateway
        self._not_read: frozenset[Connection] = frozenset()
        """The connections from which reading is paused."""
        self._closed: set[Connection] = set()
        """The connections that are being closed. Data that was received on them before, and is buffered in a lower
        layer, is discarded: it may be a request that a refused message was meant to smuggle."""
        self._activity: asyncio.Event | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        """Limits the time for the head of a request; runs while the head is incomplete."""
        self._head_since_s: float | None = None
        """When the first byte of the head that is being read was read; None if none is."""
        answers_hits = internals.is_known() and not gateway.uses_hooks
        self._hits = WireHits(gateway, context, mode) if answers_hits else None
        """None: all requests pass through streams."""
        self._answers_at_socket = False
        """Whether simple requests over HTTP/1 are answered at the socket."""

    def handle_event(self, event: events.Event) -> Commands:
        """Handle an event as mitmproxy does, in fewer writes."""
        if isinstance(event, events.DataReceived):
            if event.connection in self._closed:
                return
            if self._hits is not None and event.connection is self.context.client:
                rest = yield from self._answer_hits(self._hits, event.data)
                if not rest or self._is_asked_at_socket(len(rest)):
                    return
                self._hits.forget()
                event = event if rest is event.data else events.DataReceived(event.connection, rest)
            if self._head_since_s is None and event.connection is self.context.client:
                self._head_since_s = self._gateway.monotonic()
        for command in _merged(super().handle_event(event)):
            self._watch_close(command)
            yield command
        weighed = self._not_read
        if isinstance(event, events.DataReceived):
            for command in self._close_if_exceeding(event.connection):
                self._watch_close(command)
                yield command
            weighed = self._not_read | {event.connection}
        for connection in weighed:
            self._apply_backpressure(connection)
        self._watch_head()
        if self._activity is not None:
            self._activity.set()
            self._activity = None

    def _handle_event(self, event: events.Event) -> Commands:
        if isinstance(event, events.Start):
            self._start()
            if self.mode is not HTTPMode.upstream:  # mitmproxy would make a connection first that is never used
                yield from self.event_to_child(self.connections[self.context.client], event)
                return
        yield from super()._handle_event(event)

    def _start(self) -> None:
        context, hits = self.context.fork(), self._hits
        if self.context.client.alpn == b"h2":
            http2 = CalmHttp2Server(context, self._gateway.now, self._gateway.kept, self._answer_stream)
            self.connections[self.context.client] = http2
            if hits is not None and open_http2.is_known():
                self._answer_within_tls(partial(internals.is_between_frames, self), http2.hits)
            return
        self.connections[self.context.client] = StrictHttp1Server(context)
        if hits is not None and self._reads_the_socket():
            hits.shares = self.mode is HTTPMode.regular
            self._answers_at_socket = True
            self._gateway.answer_at_socket(self.context.client, AtSocket(self._hits_before_close, self._unanswered))
        elif hits is not None:
            is_ready = partial(internals.is_between_messages, self)
            self._answers_at_socket = tls_of(self.context.layers) is not None
            self._answer_within_tls(is_ready, partial(hits.answer, may_close=False), self._unanswered)

    def _answer_within_tls(
        self, is_ready: Callable[[], bool], answer: HitAnswerer, unanswered: UnansweredFinder | None = None
    ) -> None:
        """Answer requests at the socket of a client, if its TLS is mitmproxy's. `unanswered`: None: only hits."""
        tls = tls_of(self.context.layers)
        if tls is not None:
            within = TlsHits(tls, tuple(self.context.layers), is_ready, answer)
            behind = partial(unanswered, tls) if unanswered is not None else lambda: None
            self._gateway.answer_at_socket(self.context.client, AtSocket(within.answer, behind, tls.encrypt))

    def _answer_stream(self, stream_id: int, headers: Sequence[tuple[bytes, bytes]]) -> Answer | None:
        """Answer a request over HTTP/2 if it is a hit, and the client can receive the response."""
        if self._hits is None or not self.has_room(stream_id):
            return None
        return self._hits.answer_http2(headers)

    def _reads_the_socket(self) -> bool:
        """Whether the data of the client are as they come from its socket: in no TLS, and in no tunnel."""
        client = self.context.client
        is_outermost = self.mode is not HTTPMode.transparent or isinstance(client.proxy_mode, ReverseMode)
        return is_outermost and not client.tls

    def _hits_before_close(self, data: bytes) -> Written | None:
        """Answer the hits at the beginning of the data, up to one that closes the connection."""
        if self._hits is None or not internals.is_between_messages(self):
            return None
        return self._hits.answer(data, may_close=False)

    def _unanswered(self, tls: EndingClientTLS | None = None) -> Unanswered | None:
        """Return the simple request that is no hit behind what was answered last; None if mitmproxy reads it.

        Within TLS, mitmproxy also reads one with which more has come, as what it was encrypted to cannot be divided.
        """
        if self._hits is None or self._hits.unanswered is None or not internals.is_between_messages(self):
            return None
        (simple, started_s, size), self._hits.unanswered = self._hits.unanswered, None
        if tls is not None and not tls.has_only(size):
            return None
        pending = self._gateway.begin(simple.request, self.context.client, started_s)
        if pending is None:
            return None
        self._hits.forget()
        return Unanswered(pending, size if tls is None else tls.take())

    def _is_asked_at_socket(self, size: int) -> bool:
        """Whether a request of this size, which came through the layers alone, is answered at the socket.

        The first of each connection comes so: what it speaks was not known before.
        """
        if self._hits is None or not self._answers_at_socket:
            return False
        simple, _, its_size = self._hits.unanswered or (None, 0.0, 0)
        if simple is None or simple.closes or its_size != size:
            return False
        unanswered = self._unanswered()
        return unanswered is not None and self._gateway.ask_at_socket(self.context.client, unanswered.pending)

    def _answer_hits(self, hits: WireHits, data: bytes) -> layer.CommandGenerator[bytes]:
        """Answer the hits at the beginning of the data; return the rest, which mitmproxy reads."""
        # mitmproxy passes what it reads in a tunnel as a bytearray.
        answered = hits.answer(bytes(data)) if internals.is_between_messages(self) else None
        if answered is None:
            return data
        yield commands.SendData(self.context.client, answered.response)
        answered.finish()
        if answered.closes:
            close = commands.CloseConnection(self.context.client)
            self._watch_close(close)
            yield close
            return b""
        return data[answered.end :]

    def _watch_close(self, command: commands.Command) -> None:
        if isinstance(command, commands.CloseConnection) and not getattr(command, "half_close", False):
            self._closed.add(command.connection)

    def _watch_head(self) -> None:
        """Close the connection of a client that takes too long for the head of a request."""
        head_begun = bounds.has_begun_head(bounds.http1_parser(self.connections.get(self.context.client)))
        if head_begun and self._head_timer is None:
            self._head_timer = self.disconnect_later()
        elif not head_begun and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if not head_begun:
            self._head_since_s = None

    def disconnect_later(self) -> asyncio.TimerHandle:
        """Close the client's connection after the time limit for a head."""
        loop, client = asyncio.get_running_loop(), self.context.client
        return loop.call_later(self._gateway.limits.head_s, self._gateway.disconnect, client)

    def resume_upload(self) -> None:
        """Resume reading from the client if enough of its upload has been sent on."""
        if self.context.client in self._not_read:
            self._apply_backpressure(self.context.client)

    def _close_if_exceeding(self, connection: Connection) -> Commands:
        parser = bounds.http1_parser(self.connections.get(connection))
        if parser is not None and bounds.exceeds_bounds(parser):
            parser.buf.maybe_extract_at_most(len(parser.buf))
            yield commands.CloseConnection(connection)

    def _apply_backpressure(self, connection: Connection) -> None:
        """Pause reading from a peer while too much of its data is buffered here; resume afterwards."""
        is_full = self._waiting_bytes(connection) > self._gateway.share_bytes()
        if is_full or connection in self._not_read:
            # Set again at each event: asyncio's StreamReader resumes reading for reasons of its own.
            self._not_read = self._not_read | {connection} if is_full else self._not_read - {connection}
            self._gateway.set_reading(connection, self.context.client, on=not is_full)

    def _waiting_bytes(self, connection: Connection) -> int:
        if connection is self.context.client:
            return bounds.paused_bytes(self.streams.values())
        client = self.connections[self.context.client]
        streams = (number for number, stream in self.streams.items() if stream.context.server is connection)
        return sum(bounds.window_bytes(client, number) for number in streams)

    async def window(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response; if not, wait for an event on its connection first."""
        if self.has_room(stream_id):
            return True
        await self.activity()
        return False

    def has_pipelined(self) -> bool:
        """Whether a request that the client has sent behind others waits to be read."""
        parser = bounds.http1_parser(self.connections[self.context.client])
        return parser is not None and bool(parser.buf)

    async def activity(self) -> None:
        """Wait for the next event on the client's connection."""
        self._activity = self._activity or asyncio.Event()
        await self._activity.wait()

    def has_room(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response."""
        return bounds.has_room(self.connections[self.context.client], stream_id, self._gateway.share_bytes())

    def make_stream(self, stream_id: int) -> Commands:
        """Create a `CachingStream` where mitmproxy would create its own stream."""
        context, since_s = self.context.fork(), self._head_since_s
        stream = self.streams[stream_id] = CachingStream(context, stream_id, self._gateway, self, since_s)
        yield from self.event_to_child(stream, events.Start())


def _merged(issued: Commands) -> Commands:
    """Yield the same commands, with small data for one connection merged: a head and its content become one write.

    A write is a system call, a tenth of the time of a hit.
    """
    pending: commands.SendData | None = None
    for command in issued:
        if isinstance(command, commands.SendData):
            if (
                pending is not None
                and pending.connection is command.connection
                and len(pending.data) + len(command.data) <= MERGED_BYTES
            ):
                pending = commands.SendData(pending.connection, pending.data + command.data)
                continue
            if pending is not None:
                yield pending
            pending = command
            continue
        if pending is not None:
            yield pending
            pending = None
        yield command
    if pending is not None:
        yield pending


def install(next_layer: layer.NextLayer, gateway: Gateway) -> None:
    """Replace mitmproxy's HTTP layer, at any place in the new stack of layers, by `CachingHttpLayer`."""
    parent: layer.Layer | None = None
    current = next_layer.layer
    while current is not None and type(current) is not HttpLayer:
        parent, current = current, getattr(current, "child_layer", None)
    if current is None:
        return
    position = current.context.layers.index(current)
    replacement = CachingHttpLayer(current.context, current.mode, gateway)
    replacement.context.layers.pop()  # the constructor appended it; its place is that of the layer which it replaces
    replacement.context.layers[position] = replacement
    if parent is None:
        next_layer.layer = replacement
    else:
        parent.child_layer = replacement  # type: ignore[attr-defined]
