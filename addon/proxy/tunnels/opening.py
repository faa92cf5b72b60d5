"""The begin of a tunnel: who speaks first, the client or, as in SMTP or SSH, the origin."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from mitmproxy.connection import Server
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayerHook
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.proxy.tunnel import LayerStack

from bestbefore.addon.proxy.mitm.wait import wait
from bestbefore.addon.proxy.tunnels.first_speaker import KNOWN_SILENCE_S, WEB_SILENCE_S, Expected

Commands = layer.CommandGenerator[Any]


class _EarlyContact:
    """The connection to the origin that is made before anyone has spoken."""

    def __init__(self, server: Server, layer: layer.Layer) -> None:
        self.server = server
        self.opening = commands.OpenConnection(server)
        # As mitmproxy marks the command of a layer that waits for it; but this one goes on.
        self.opening.blocking = layer  # type: ignore[assignment]
        self.is_pending = True
        self.has_failed = False
        self.is_of_use = True
        """Whether what passes in the tunnel may be sent on it."""
        self.patience = commands.RequestWakeup(WEB_SILENCE_S)
        """Ends the time that the client has to speak if the connection cannot be made."""

    @property
    def is_open(self) -> bool:
        """Whether it has been made."""
        return not (self.is_pending or self.has_failed)

    def another(self) -> Server:
        """Return a connection to the same origin that is not open, with the error of this one."""
        ours = self.server
        return Server(address=ours.address, via=ours.via, sni=ours.sni, tls=ours.tls, error=ours.error)


class TunnelOpening(layer.NextLayer):
    """Chooses what handles a tunnel, as mitmproxy's `NextLayer` does, by who speaks first.

    mitmproxy waits for the client. If the client is silent, this layer connects to the origin, which may speak then. If
    the client speaks first after all, and is intercepted, that connection is closed: answers come over others, or from
    the store.
    """

    def __init__(self, context: Context, expected: Expected, activity: Callable[[], Awaitable[object]]) -> None:
        """`activity` waits for the next event on the client's connection."""
        super().__init__(context)
        self._expected = expected
        self._activity = activity
        self._early: _EarlyContact | None = None

    def handle_event(self, event: events.Event) -> Commands:
        """Handle an event as mitmproxy does, but for those of a connection that was made in vain."""
        early = self._early
        if early is not None:
            if isinstance(event, events.OpenConnectionCompleted) and event.command is early.opening:
                yield from self._contacted(early, event.reply)
                return
            has_begun = self.layer is not None or self._paused or self.data_client()  # type: ignore[no-untyped-call]
            if has_begun and isinstance(event, events.Wakeup) and event.command is early.patience:
                return
            if not early.is_of_use and isinstance(event, events.ConnectionEvent) and event.connection is early.server:
                return
        yield from super().handle_event(event)

    def _handle_event(self, event: events.Event) -> Commands:
        early = self._early
        if isinstance(event, events.Start):
            self.events.append(event)
            if self._expected.is_passthrough:
                yield from self._ask()
            elif self._expected.silence_s is not None and not self.context.client.alpn:  # else it speaks HTTP
                yield from self._await_client(self._expected.silence_s)
        elif isinstance(event, events.Wakeup):
            yield from self._ask()
        elif self.layer is not None and not _is_end_of(event, self.context.client):
            self.events.append(event)  # until the connection is made
        elif early is not None and _is_end_of(event, early.server):
            yield commands.CloseConnection(self.context.client)
        else:
            yield from super()._handle_event(event)

    def _await_client(self, within_s: float) -> Commands:
        """Connect to the origin if the client is silent."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + within_s
        while not self._paused_event_queue and (left_s := until_s - loop.time()) > 0:
            yield from wait(partial(_wait, self._activity, left_s))
        if not self._paused_event_queue:
            self._early = _EarlyContact(self.context.server, self)
            yield self._early.opening

    def _contacted(self, early: _EarlyContact, error: str | None) -> Commands:
        """Go on after the attempt to connect. If it failed, the client may still be answered, if it speaks soon."""
        early.is_pending, early.has_failed = False, error is not None
        if not early.is_of_use:
            if early.is_open:
                yield commands.CloseConnection(early.server)
        elif self._paused:
            return  # `_ask` goes on with what this has come to
        elif self.layer is not None:
            yield from self._begin()
        elif early.has_failed and not self.data_client():  # type: ignore[no-untyped-call]
            yield early.patience

    def _ask(self) -> Commands:
        by_origin = bool(self.data_server())  # type: ignore[no-untyped-call]
        yield from self._choose()
        if self.layer is None:
            return
        if by_origin or self.data_client():  # type: ignore[no-untyped-call]
            self._expected.note_first(not by_origin)
        early, is_raw = self._early, isinstance(self.layer, TCPLayer)
        if not is_raw and self._expected.silence_s is not None:  # below TLS, the origin may speak first too
            install(self.layer, Expected(max(self._expected.silence_s, KNOWN_SILENCE_S)), self._activity)
        if early is not None and is_raw and early.is_pending:
            return
        if early is not None and not is_raw:
            early.is_of_use = False
            if early.is_open:
                yield commands.CloseConnection(early.server)
        yield from self._begin()

    def _choose(self) -> Commands:
        """Let the addons choose the layer.

        One that intercepts connects itself. It must not meet the connection made before, which may end at any time, so
        it gets another, and another layer for the parent proxy, as the one below is for the connection made before.
        """
        early, context = self._early, self.context
        if early is None or self.data_server():  # type: ignore[no-untyped-call]
            yield NextLayerHook(self)
            return
        below, stack = len(context.layers), LayerStack()
        context.server = early.another()
        if context.server.via is not None:
            stack = HttpUpstreamProxy.make(context, send_connect=True)
        added = len(context.layers) - below
        yield NextLayerHook(self)
        if self.layer is None or isinstance(self.layer, TCPLayer):
            context.server = early.server
            del context.layers[below : below + added]
        else:
            context.server.error = None
            self.layer = (stack / self.layer)[0]
        if isinstance(self.layer, TCPLayer) and self.layer.flow is not None:
            self.layer.flow.server_conn = early.server

    def _begin(self) -> Commands:
        """Hand the tunnel to the layer that was chosen."""
        assert self.layer is not None
        if self._early is not None and self._early.is_of_use and self._early.has_failed:
            yield commands.CloseConnection(self.context.client)
            return
        # The second is for events that came while the choice was made, which must not cause another.
        self._handle = self._handle_event = self.layer.handle_event  # type: ignore[method-assign]
        pending, self.events = self.events, []
        for event in pending:
            yield from self.layer.handle_event(event)


def install(stream: layer.Layer, expected: Expected, activity: Callable[[], Awaitable[object]]) -> None:
    """Put a `TunnelOpening` where mitmproxy has put a layer that waits for the client, below a tunnel's stream."""
    parent: Any = stream
    while parent is not None:
        child = getattr(parent, "child_layer", None)
        if type(child) is layer.NextLayer:
            parent.child_layer = TunnelOpening(child.context, expected, activity)
            return
        parent = child


def _is_end_of(event: events.Event, connection: object) -> bool:
    return isinstance(event, events.ConnectionClosed) and event.connection is connection


async def _wait(activity: Callable[[], Awaitable[object]], within_s: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(activity(), within_s)
