"""TLS with clients: mitmproxy's, with an end where a client ends it by an error after the handshake."""

from typing import Any

from mitmproxy.proxy import commands, layer
from mitmproxy.proxy.layers.tls import ClientTLSLayer, TlsFailedClientHook
from mitmproxy.tls import TlsData

AFTER_HANDSHAKE = "TLS failed after the handshake"


class EndingClientTLS(ClientTLSLayer):
    """Closes the connection when TLS has failed on it.

    Firefox completes the handshake and says only then that it does not accept the certificate. mitmproxy logs this, and
    leaves the connection open.
    """

    def receive_data(self, data: bytes) -> layer.CommandGenerator[Any]:
        """Pass on decrypted data as mitmproxy does; report a failure as one of the handshake."""
        yield from super().receive_data(data)
        if self.conn.error is None and self.tls.get_state_string() == b"error":  # as OpenSSL calls it
            self.conn.error = AFTER_HANDSHAKE
            yield TlsFailedClientHook(TlsData(self.conn, self.context, self.tls))
            yield commands.CloseConnection(self.conn)


def install(next_layer: layer.NextLayer) -> None:
    """Replace mitmproxy's layer for the TLS of a client, in the new stack of layers, by `EndingClientTLS`."""
    parent: Any = None
    current: Any = next_layer.layer
    while current is not None and type(current) is not ClientTLSLayer:
        parent, current = current, getattr(current, "child_layer", None)
    if current is None:
        return
    context = current.context
    position = context.layers.index(current)
    above = context.layers[position + 1 :]
    del context.layers[position:]
    replacement = EndingClientTLS(context)  # appends itself, and looks at the layer before
    replacement.child_layer = current.child_layer
    context.layers += above
    if parent is None:
        next_layer.layer = replacement
    else:
        parent.child_layer = replacement
