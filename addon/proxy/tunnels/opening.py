"""The begin of a tunnel: who speaks first, the client or, as in SMTP or SSH, the origin."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayerHook
from mitmproxy.proxy.layers.tcp import TCPLayer

from bestbefore.addon.proxy.mitm.wait import wait

Commands = layer.CommandGenerator[Any]

WEB_PORTS = frozenset({80, 443, 8080, 8443})
WEB_SILENCE_S = 1.0
"""How long a client may be silent on a web port before the origin is contacted. Browsers open tunnels in advance."""
OTHER_SILENCE_S = 0.1
"""On other ports. A client that speaks first has done so by then, and if the store can answer it needs no origin."""


def silence_s(port: int) -> float:
    """Return how long a client may be silent in a tunnel to a port before the origin is contacted."""
    return WEB_SILENCE_S if port in WEB_PORTS else OTHER_SILENCE_S


class TunnelOpening(layer.NextLayer):
    """Chooses what handles a tunnel, as mitmproxy's `NextLayer` does, by who speaks first.

    mitmproxy waits for the client. If the client is silent, this layer connects to the origin, which may speak then. If
    the client speaks first after all, that connection is closed, and the tunnel is intercepted as usual.
    """

    def __init__(self, context: Context, within_s: float | None, activity: Callable[[], Awaitable[object]]) -> None:
        """`within_s`: how long the client may be silent; 0: what handles the tunnel is chosen at once; None: forever.

        `activity` waits for the next event on the client's connection.
        """
        super().__init__(context)
        self._within_s = within_s
        self._activity = activity

    def _handle_event(self, event: events.Event) -> Commands:
        if isinstance(event, events.Start):
            self.events.append(event)
            if self._within_s == 0:
                yield from self._ask()
            elif self._within_s is not None:
                yield from self._await_client(self._within_s)
        elif isinstance(event, events.ConnectionClosed) and event.connection == self.context.server:
            yield commands.CloseConnection(self.context.client)
        else:
            yield from super()._handle_event(event)

    def _await_client(self, within_s: float) -> Commands:
        """Connect to the origin if the client is silent. If that fails, the client may still be answered."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + within_s
        while not self._paused_event_queue and (left_s := until_s - loop.time()) > 0:
            yield from wait(partial(_wait, self._activity, left_s))
        if not self._paused_event_queue:
            yield commands.OpenConnection(self.context.server)

    def _ask(self) -> Commands:
        yield NextLayerHook(self)
        if self.layer is None:
            return
        is_raw = isinstance(self.layer, TCPLayer)
        if is_raw and self.context.server.error:  # mitmproxy's layer would take a connection that failed for open
            yield commands.CloseConnection(self.context.client)
            return
        if self.context.server.connected and not is_raw:
            yield commands.CloseConnection(self.context.server)
        # The second is for events that came while the choice was made, which must not cause another.
        self._handle = self._handle_event = self.layer.handle_event  # type: ignore[method-assign]
        pending, self.events = self.events, []
        for event in pending:
            yield from self.layer.handle_event(event)


def install(stream: layer.Layer, within_s: float | None, activity: Callable[[], Awaitable[object]]) -> None:
    """Put a `TunnelOpening` where mitmproxy has put a layer that waits for the client, below a tunnel's stream."""
    parent: Any = stream
    while parent is not None:
        child = getattr(parent, "child_layer", None)
        if type(child) is layer.NextLayer:
            parent.child_layer = TunnelOpening(child.context, within_s, activity)
            return
        parent = child


async def _wait(activity: Callable[[], Awaitable[object]], within_s: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(activity(), within_s)
