"""What a client gets over real TLS, where some messages are answered at the socket and others by the layers."""

import datetime as dt
import random
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.proxy.layers.tls import ClientTLSLayer
from mitmproxy.proxy.tunnel import TunnelState
from OpenSSL import SSL

from bestbefore.addon.proxy.mitm.client_tls import EndingClientTLS
from bestbefore.addon.proxy.mitm.wire.tls_hits import TlsHits, tls_of
from bestbefore.addon.proxy.mitm.wire.written import Written


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and its certificate."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(1)).sign(key, SHA256())
    file = tmp_path_factory.mktemp("tls") / "key.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    return file


class Upper(Layer):
    """Answers each message, which ends in a semicolon, in capitals."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.got = b""
        self.is_closed = False

    def _handle_event(self, event: events.Event) -> Any:
        if isinstance(event, events.DataReceived):
            self.got += event.data
            yield commands.SendData(event.connection, event.data.upper())
        self.is_closed = self.is_closed or isinstance(event, events.ConnectionClosed)

    @property
    def is_between(self) -> bool:
        return self.got[-1:] in (b"", b";")


class Wire:
    """A client, and a proxy whose socket has a reader that may be slow."""

    def __init__(self, context: Context, key_file: Path) -> None:
        TCPLayer(context)  # it looks at the one below
        self.client, self.layer = context.client, EndingClientTLS(context)
        server = SSL.Context(SSL.TLS_SERVER_METHOD)
        server.use_privatekey_file(str(key_file))
        server.use_certificate_file(str(key_file))
        self.layer.tls = SSL.Connection(server)
        self.layer.tls.set_accept_state()
        self.child = self.layer.child_layer = Upper(context)
        self.from_client, self.to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        self.tls = trusting.wrap_bio(self.to_client, self.from_client)
        for _ in range(3):
            with suppress(ssl.SSLWantReadError):
                self.tls.do_handshake()
            if sent := self.from_client.read():
                self.layer.tls.bio_write(sent)
            with suppress(SSL.WantReadError):
                self.layer.tls.do_handshake()
            with suppress(SSL.WantReadError):
                self.to_client.write(self.layer.tls.bio_read(65536))
        self.layer.tunnel_state = TunnelState.OPEN
        self.hits = TlsHits(self.layer, [self.layer, self.child], lambda: self.child.is_between, self.answer)
        self.unread = self.behind = b""
        self.answered = self.asked = 0

    def answer(self, data: bytes) -> Written | None:
        n = 0
        while data.startswith(b"hit;", 4 * n):
            n += 1
        self.behind = data[4 * n :]

        def finish() -> None:
            self.answered += n

        return Written(b"HIT;" * n, 4 * n, closes=False, finish=finish) if n else None

    def receive(self, data: bytes) -> None:
        """As `HitProtocol.data_received`."""
        if not self.unread and (written := self.hits.answer(data)) is not None:
            self.to_client.write(written.response)
            written.finish()
            data = data[written.end :]
        if data and self.behind == b"ask;" and self.layer.has_only(4):
            assert self.layer.take() == len(data)
            self.asked += 1
            self.to_client.write(self.layer.encrypt(b"ASK;"))
            return
        self.unread += data

    def read(self, most: int) -> None:
        """mitmproxy reads what the reader has."""
        data, self.unread = self.unread[:most], self.unread[most:]
        for command in self.layer.handle_event(events.DataReceived(self.client, data)) if data else ():
            if isinstance(command, commands.SendData):
                self.to_client.write(command.data)

    def got(self) -> bytes:
        content = b""
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while part := self.tls.read(65536):
                content += part
        return content


@pytest.mark.parametrize("seed", range(4))
def test_each_message_is_answered_once_and_in_order(context: Context, key_file: Path, seed: int) -> None:
    wire, chosen = Wire(context, key_file), random.Random(seed)
    sent = b""
    for _ in range(60):
        kinds = b"hit;", b"ask;", b"miss;", b"hi", b"t;", b"x" * 20_000 + b";"
        for part in chosen.choices(kinds, (8, 3, 3, 1, 1, 1), k=chosen.randint(1, 4)):
            sent += part
            wire.tls.write(part)
        data = wire.from_client.read()
        at = chosen.choice((len(data), len(data), chosen.randrange(len(data))))
        for piece in (data[:at], data[at:]):
            if piece:
                wire.receive(piece)
            if chosen.random() < 0.8:
                wire.read(chosen.choice((65_535, 65_535, 30)))
    while wire.unread:
        wire.read(65_535)
    assert wire.got() == sent.upper()
    last = b"hit;" if wire.child.is_between else b";"
    wire.tls.write(last)
    sent += last
    with suppress(ssl.SSLWantReadError):
        wire.tls.unwrap()
    wire.receive(wire.from_client.read())
    while wire.unread:
        wire.read(65_535)
    assert len(wire.child.got) + 4 * (wire.answered + wire.asked) == len(sent)
    assert wire.answered > 20
    assert wire.asked > 3
    assert wire.child.is_closed, "the end of TLS came with the last hit"


def test_a_request_with_which_tls_ends_is_left_to_the_layers(context: Context, key_file: Path) -> None:
    wire = Wire(context, key_file)
    wire.tls.write(b"ask;")
    with suppress(ssl.SSLWantReadError):
        wire.tls.unwrap()
    wire.receive(wire.from_client.read())
    assert not wire.asked
    wire.read(65_535)
    assert wire.child.got == b"ask;"
    assert wire.child.is_closed


def test_while_a_layer_waits_nothing_is_decrypted(context: Context, key_file: Path) -> None:
    wire = Wire(context, key_file)
    wire.tls.write(b"hit;")
    wire.child._paused = object()  # type: ignore[assignment]
    assert wire.hits.answer(wire.from_client.read()) is None
    assert wire.layer.is_idle


def test_tls_within_tls_is_mitmproxys(context: Context) -> None:
    TCPLayer(context)
    assert tls_of(context.layers) is None
    layer = EndingClientTLS(context)
    assert tls_of(context.layers) is layer
    ClientTLSLayer(context)
    assert tls_of(context.layers) is None
