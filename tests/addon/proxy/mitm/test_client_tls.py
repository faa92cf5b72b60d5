"""The place of the layer, and what follows from a failure (`live/clients/test_tunnels` has real ones)."""

from typing import Any

import pytest
from mitmproxy.proxy import commands
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.proxy.layers.tls import ClientTLSLayer, ServerTLSLayer, TlsFailedClientHook
from OpenSSL import SSL

from bestbefore.addon.proxy.mitm.client_tls import AFTER_HANDSHAKE, EndingClientTLS, install


@pytest.mark.parametrize("is_below", [True, False])
def test_it_takes_the_place_of_mitmproxys(context: Context, is_below: bool) -> None:
    next_layer, base = NextLayer(context), TCPLayer(context)
    top: Any = ServerTLSLayer(context) if is_below else None
    theirs = ClientTLSLayer(context)
    theirs.child_layer = child = TCPLayer(context)
    if is_below:
        top.child_layer = theirs
    next_layer.layer = top or theirs
    install(next_layer)
    ours = top.child_layer if is_below else next_layer.layer
    assert type(ours) is EndingClientTLS
    assert context.layers == [base, *([top] if is_below else []), ours, child]
    assert ours.child_layer is child
    assert ours.server_tls_available is is_below
    install(next_layer)
    assert (top.child_layer if is_below else next_layer.layer) is ours


def test_other_layers_stay(context: Context) -> None:
    next_layer = NextLayer(context)
    install(next_layer)
    next_layer.layer = theirs = TCPLayer(context)
    install(next_layer)
    assert next_layer.layer is theirs


class Failing:
    """A TLS connection whose state is given, and which decrypts nothing."""

    def __init__(self, state: bytes) -> None:
        self.get_state_string = lambda: state

    def recv(self, _: int) -> bytes:
        raise SSL.Error if self.get_state_string() == b"error" else SSL.WantReadError

    def bio_read(self, _: int) -> bytes:
        raise SSL.WantReadError


@pytest.mark.parametrize(("state", "ends"), [(b"error", True), (b"SSL negotiation finished successfully", False)])
def test_a_failure_is_reported_once_and_ends_the_connection(context: Context, state: bytes, ends: bool) -> None:
    TCPLayer(context)  # it looks at the one below
    layer = EndingClientTLS(context)
    layer.tls = Failing(state)  # type: ignore[assignment]
    issued = list(layer.receive_data(b""))
    assert [type(command) for command in issued] == (
        [commands.Log, TlsFailedClientHook, commands.CloseConnection] if ends else []
    )
    assert [command.message for command in issued if isinstance(command, commands.Log)] == (
        ["no TLS with 127.0.0.1 for the proxy: it ended TLS after the handshake"] if ends else []
    )
    assert context.client.error == (AFTER_HANDSHAKE if ends else None)
    assert list(layer.receive_data(b"")) == []


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("tlsv1 alert unknown ca", "it does not know the proxy's certificate authority"),
        ("OpenSSL Error([('SSL routines', '', 'odd')])", "the handshake failed"),
    ],
)
def test_the_log_has_none_of_openssls_texts(context: Context, error: str, line: str) -> None:
    TCPLayer(context)
    layer = EndingClientTLS(context)
    layer.conn.sni = "a.test"
    logged = [command.message for command in layer.on_handshake_error(error) if isinstance(command, commands.Log)]
    assert logged == [f"no TLS with 127.0.0.1 for a.test: {line}"]
