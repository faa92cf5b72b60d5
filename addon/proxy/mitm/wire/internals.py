"""What the answers at the bytes lean on in mitmproxy, beyond what the layer does."""

from mitmproxy import version
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy.layers.http import Http1Server, HttpLayer

KNOWN_VERSIONS = frozenset(("12.2.3",))
"""The versions of mitmproxy with which this was tested. Under another, all requests take mitmproxy's way."""

UNKNOWN = (
    f"mitmproxy {version.VERSION} is not among the versions that bestbefore was tested with"
    f" ({', '.join(sorted(KNOWN_VERSIONS))}): hits are answered more slowly"
)


def is_known() -> bool:
    """Whether the installed mitmproxy is one that the answers at the bytes were tested with."""
    return version.VERSION in KNOWN_VERSIONS


def is_between_messages(layer: HttpLayer) -> bool:
    """Whether what a client sends next begins a message: all before is read, and answered.

    mitmproxy reads a head only when its state is `read_headers`, after the answer to the last request; a layer or
    stream that waits for something is paused, and then queues events.
    """
    client = layer.context.client
    server = layer.connections.get(client)
    return (
        isinstance(server, Http1Server)
        and not layer.streams
        and not server.buf
        and server.state == server.read_headers
        and client.state is ConnectionState.OPEN
        and layer._paused is None  # noqa: SLF001 - mitmproxy's own subclasses look into it too
        and server._paused is None  # noqa: SLF001
    )
