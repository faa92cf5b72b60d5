"""mitmproxy's HTTP layer with streams that ask the gateway first, and with bounds on what it holds in memory."""

import asyncio
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode

from bestbefore.addon.proxy.mitm import bounds
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.http2 import CalmHttp2Server
from bestbefore.addon.proxy.mitm.request_reader import StrictHttp1Server
from bestbefore.addon.proxy.mitm.stream import CachingStream

Commands = layer.CommandGenerator[Any]

MERGED_BYTES = 64 * 1024
"""Data sent together is no larger than this: copying more costs more than a write."""


class CachingHttpLayer(HttpLayer):
    """The requests of one client connection, and the connections that mitmproxy opens for them."""

    def __init__(self, context: Context, mode: HTTPMode, gateway: Gateway) -> None:
        super().__init__(context, mode)
        self._gateway = gateway
        self._not_read: frozenset[Connection] = frozenset()
        """Those that are not read from now."""
        self._closed: set[Connection] = set()
        """Those that are being closed: what was received on them before, and waited in a layer below, is not read. It
        may be what a message that was refused was to hide."""
        self._moved: asyncio.Event | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        """Runs while the head of a request is incomplete."""

    def handle_event(self, event: events.Event) -> Commands:
        """Handle an event as mitmproxy does, in fewer writes."""
        if isinstance(event, events.DataReceived) and event.connection in self._closed:
            return
        if isinstance(event, events.Start):
            context = self.context.fork()
            is_http2 = self.context.client.alpn == b"h2"
            reader = CalmHttp2Server(context, self._gateway.now) if is_http2 else StrictHttp1Server(context)
            self.connections[self.context.client] = reader
        for command in _merged(super().handle_event(event)):
            self._watch_close(command)
            yield command
        weighed = self._not_read
        if isinstance(event, events.DataReceived):
            for command in self._end_if_endless(event.connection):
                self._watch_close(command)
                yield command
            weighed = self._not_read | {event.connection}
        for connection in weighed:
            self._apply_backpressure(connection)
        self._watch_head()
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    def _watch_close(self, command: commands.Command) -> None:
        if isinstance(command, commands.CloseConnection) and not getattr(command, "half_close", False):
            self._closed.add(command.connection)

    def _watch_head(self) -> None:
        """Close the connection of a client that takes too long for the head of a request."""
        is_begun = bounds.has_begun_head(bounds.parser_of(self.connections.get(self.context.client)))
        if is_begun and self._head_timer is None:
            self._head_timer = self.cut_later()
        elif not is_begun and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def cut_later(self) -> asyncio.TimerHandle:
        """Close the client's connection after the time that a head may take."""
        loop, client = asyncio.get_running_loop(), self.context.client
        return loop.call_later(self._gateway.limits.head_s, self._gateway.cut, client)

    def upload_moved(self) -> None:
        """Note that some of what a client uploads was taken."""
        if self.context.client in self._not_read:
            self._apply_backpressure(self.context.client)

    def _end_if_endless(self, connection: Connection) -> Commands:
        parser = bounds.parser_of(self.connections.get(connection))
        if parser is not None and bounds.is_endless(parser):
            if answer := bounds.last_words(parser):
                yield commands.SendData(connection, answer)
            yield commands.CloseConnection(connection)

    def _apply_backpressure(self, connection: Connection) -> None:
        """Read no more from a peer while much of what it sent waits here, and again when it does not."""
        waits = self._waiting_bytes(connection) > self._gateway.share_bytes()
        if waits or connection in self._not_read:
            # Set again at each event: asyncio's StreamReader resumes reading for reasons of its own.
            self._not_read = self._not_read | {connection} if waits else self._not_read - {connection}
            self._gateway.set_reading(connection, self.context.client, on=not waits)

    def _waiting_bytes(self, connection: Connection) -> int:
        if connection is self.context.client:
            return bounds.paused_bytes(self.streams.values())
        client = self.connections[self.context.client]
        streams = (number for number, stream in self.streams.items() if stream.context.server is connection)
        return sum(bounds.window_bytes(client, number) for number in streams)

    async def window(self, stream_id: int) -> bool:
        """Whether the client can take more of an answer; if not, waits until anything happens on its connection."""
        if self.has_room(stream_id):
            return True
        self._moved = self._moved or asyncio.Event()
        await self._moved.wait()
        return False

    def has_room(self, stream_id: int) -> bool:
        """Whether the client can take more of an answer."""
        return bounds.has_room(self.connections[self.context.client], stream_id, self._gateway.share_bytes())

    def make_stream(self, stream_id: int) -> Commands:
        """Make a `CachingStream` where mitmproxy makes its own stream."""
        stream = self.streams[stream_id] = CachingStream(self.context.fork(), stream_id, self._gateway, self)
        yield from self.event_to_child(stream, events.Start())


def _merged(issued: Commands) -> Commands:
    """The same commands, with small data to one connection sent together: a head and its content are one write.

    A write is a system call, a tenth of the time of a hit.
    """
    held: commands.SendData | None = None
    for command in issued:
        if isinstance(command, commands.SendData):
            if (
                held is not None
                and held.connection is command.connection
                and len(held.data) + len(command.data) <= MERGED_BYTES
            ):
                held = commands.SendData(held.connection, held.data + command.data)
                continue
            if held is not None:
                yield held
            held = command
            continue
        if held is not None:
            yield held
            held = None
        yield command
    if held is not None:
        yield held


def install(next_layer: layer.NextLayer, gateway: Gateway) -> None:
    """Put `CachingHttpLayer` in place of mitmproxy's HTTP layer, wherever in the new stack it stands."""
    parent: layer.Layer | None = None
    current = next_layer.layer
    while current is not None and type(current) is not HttpLayer:
        parent, current = current, getattr(current, "child_layer", None)
    if current is None:
        return
    position = current.context.layers.index(current)
    ours = CachingHttpLayer(current.context, current.mode, gateway)
    ours.context.layers.pop()  # the constructor appended it; it takes the place of the layer it replaces
    ours.context.layers[position] = ours
    if parent is None:
        next_layer.layer = ours
    else:
        parent.child_layer = ours  # type: ignore[attr-defined]
