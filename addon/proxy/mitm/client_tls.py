"""TLS with clients: mitmproxy's, with an end where a client ends it by an error, and log lines of our own."""

import logging
from contextlib import suppress
from typing import Any

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.tls import ClientTLSLayer, TlsFailedClientHook
from mitmproxy.proxy.tunnel import TunnelState
from mitmproxy.tls import TlsData
from OpenSSL import SSL

from bestbefore.addon.proxy.tunnels.interception import reason_of

AFTER_HANDSHAKE = "TLS failed after the handshake"
RECORD_BYTES = 16 * 1024
"""The most content of one record."""


class EndingClientTLS(ClientTLSLayer):
    """Closes the connection when TLS has failed on it.

    Firefox completes the handshake and says only then that it does not accept the certificate. mitmproxy logs this, and
    leaves the connection open.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._read_ahead = 0
        """How many bytes of those that come next were decrypted by `decrypt`."""
        self._ahead = b""
        """What was decrypted of them, and has not been passed on."""

    @property
    def is_idle(self) -> bool:
        """Whether the handshake is over, and all data that came is passed on."""
        return self.tunnel_state is TunnelState.OPEN and not self._read_ahead

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt data that has come to an idle connection.

        `receive_data` must get the same data later, unless `answered` returns True.
        """
        tls, content = self.tls, b""
        tls.bio_write(data)
        self._read_ahead, self._ahead = len(data), b""
        with suppress(SSL.Error):  # at the end of the data; `receive_data` meets an actual error again
            while True:
                content += tls.recv(RECORD_BYTES)
        self._ahead = content
        return content

    def answered(self, end: int) -> bool:
        """Discard decrypted content that was answered. Returns whether nothing is left for `receive_data`."""
        self._ahead = self._ahead[end:]
        if self._ahead or self._has_ended():
            return False
        self._read_ahead = 0
        return True

    def has_only(self, size: int) -> bool:
        """Whether decrypted content of this size, and no other data, is to be passed on."""
        return self._read_ahead > 0 and len(self._ahead) == size and not self._has_ended()

    def take(self) -> int:
        """Discard the decrypted content, as for `has_only`. Returns how many bytes it was encrypted."""
        size, self._read_ahead, self._ahead = self._read_ahead, 0, b""
        return size

    def _has_ended(self) -> bool:
        return bool(self.tls.get_shutdown()) or self.tls.get_state_string() == b"error"  # as OpenSSL calls it

    def encrypt(self, content: bytes) -> bytes:
        """Return the records of content for the client."""
        with suppress(SSL.ZeroReturnError, SSL.SysCallError):  # as mitmproxy does: it ends soon
            self.tls.sendall(content)
        most, records = len(content) + len(content) // 64 + 1024, b""
        with suppress(SSL.WantReadError):
            while len(records) % most == 0:
                records += self.tls.bio_read(most)
        return records

    def receive_data(self, data: bytes) -> layer.CommandGenerator[Any]:
        """Pass on decrypted data as mitmproxy does; report a failure as one of the handshake."""
        if self._read_ahead:
            known = min(self._read_ahead, len(data))
            data, self._read_ahead = data[known:], self._read_ahead - known
            content, self._ahead = self._ahead, b""
            if content:
                yield from self.event_to_child(events.DataReceived(self.conn, content))
        for command in super().receive_data(data):
            if not (isinstance(command, commands.Log) and command.message.startswith("TLS Error: ")):
                yield command
        if self.conn.error is None and self.tls.get_state_string() == b"error":
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
