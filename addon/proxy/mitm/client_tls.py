"""TLS with clients: mitmproxy's, with an end where a client ends it by an error, and log lines of our own."""

import logging
from typing import Any

from mitmproxy.proxy import commands, layer
from mitmproxy.proxy.layers.tls import ClientTLSLayer, TlsFailedClientHook
from mitmproxy.tls import TlsData

from bestbefore.addon.proxy.tunnels.interception import reason_of

AFTER_HANDSHAKE = "TLS failed after the handshake"


class EndingClientTLS(ClientTLSLayer):
    """Closes the connection when TLS has failed on it.

    Firefox completes the handshake and says only then that it does not accept the certificate. mitmproxy logs this, and
    leaves the connection open.
    """

    def receive_data(self, data: bytes) -> layer.CommandGenerator[Any]:
        """Pass on decrypted data as mitmproxy does; report a failure as one of the handshake."""
        for command in super().receive_data(data):
            if not (isinstance(command, commands.Log) and command.message.startswith("TLS Error: ")):
                yield command
        if self.conn.error is None and self.tls.get_state_string() == b"error":  # as OpenSSL calls it
            self.conn.error = AFTER_HANDSHAKE
            yield self._line(AFTER_HANDSHAKE, logging.WARNING)
            yield TlsFailedClientHook(TlsData(self.conn, self.context, self.tls))
            yield commands.CloseConnection(self.conn)

    def on_handshake_error(self, err: str) -> layer.CommandGenerator[Any]:
        """Report a failed handshake as mitmproxy does."""
        for command in super().on_handshake_error(err):
            yield self._line(err, command.level) if isinstance(command, commands.Log) else command

    def _line(self, error: str, level: int) -> commands.Log:
        """Return the line for the log, in place of OpenSSL's texts."""
        address = self.context.server.address
        host = self.conn.sni or (address[0] if address else "the proxy")
        peer = self.context.client.peername
        return commands.Log(f"no TLS with {peer[0] if peer else 'a client'} for {host}: {reason_of(error)}", level)


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
