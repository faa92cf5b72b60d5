"""References in mitmproxy's layers by which what has ended refers to itself.

Without them its memory is free at once. Else it stays until Python's collector visits it, and the more it has to visit,
the longer all requests wait meanwhile.
"""

from collections.abc import Iterator
from typing import Any

from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layer import CommandGenerator, Layer
from mitmproxy.proxy.layers.http import Http1Client, Http1Server, HttpLayer, HttpStream

from bestbefore.addon.proxy.mitm.wire.internals import are_unpaused, is_known


def release(ended: Layer) -> None:
    """Remove those of a layer that gets no more events, such as a stream that was dropped."""
    ended.context.layers.clear()
    if isinstance(ended, Http1Server | Http1Client):
        ended.state = _end
    elif isinstance(ended, HttpStream):
        ended.client_state = ended.server_state = _end


def release_connection(handler: Any) -> None:
    """Remove those of a client's connection that has ended; of none on which something is still in progress.

    Nor under a mitmproxy that is not known. `handler`: mitmproxy's `ConnectionHandler`.
    """
    if not is_known() or handler.transports:
        return
    layers = list(_within(handler.layer))
    if not are_unpaused(layers):
        return
    for layer in layers:
        release(layer)
    handler.timeout_watchdog.callback = None


def _within(outermost: Layer) -> Iterator[Layer]:
    """Yield the layers of a connection, with those of the tunnels through it, its streams, and its other ends."""
    seen, waiting = set[int](), [outermost]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in seen:
            seen.add(id(layer))
            yield layer
            waiting += layer.context.layers
            if isinstance(layer, HttpLayer):
                waiting += [*layer.streams.values(), *layer.connections.values()]


def _end(_event: Event) -> CommandGenerator[None]:
    """Ignore an event, as mitmproxy's layers do in their last states."""
    yield from ()
