"""Clients over HTTP/2 that make work without asking for anything."""

import select
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
import pytest
from hyperframe.frame import PriorityFrame, WindowUpdateFrame

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
FLOOD = 20_000
"""So many that even a slow client, who is permitted some each second, floods with them."""


class Client:
    """An HTTP/2 connection through the proxy."""

    def __init__(self, proxy: Any, origin: Any) -> None:
        self.authority = origin.url.removeprefix("https://")
        plain = socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_S)
        plain.sendall(f"CONNECT {self.authority} HTTP/1.1\r\nHost: {self.authority}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(4096)
        context = ssl.create_default_context(cafile=proxy.state / "mitmproxy-ca-cert.pem")
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration())
        self.connection.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.connection.data_to_send())

    def ask(self) -> int:
        stream_id: int = self.connection.get_next_available_stream_id()
        pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", self.authority), (":path", "/page")]
        self.connection.send_headers(stream_id, pseudo, end_stream=True)
        return stream_id

    def events(self) -> list[h2.events.Event]:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the proxy has closed the connection")
        received: list[h2.events.Event] = self.connection.receive_data(data)
        return received

    def answered(self) -> bool:
        """Whether a request is answered."""
        stream_id = self.ask()
        self.flush()
        while True:
            for event in self.events():
                if isinstance(event, h2.events.StreamEnded) and event.stream_id == stream_id:
                    return True

    def ended_by(self, flood: Callable[["Client"], None]) -> int | None:
        """The error code with which the proxy ends the connection during a flood; None if it does not."""
        with suppress(ConnectionError, ssl.SSLError):
            for _ in range(FLOOD):
                flood(self)
                self.flush()
                while select.select([self.socket], [], [], 0.001)[0]:  # before the system drops it with the connection
                    if (code := self._ended()) is not None:
                        return code
        with suppress(ConnectionError, ssl.SSLError):  # what came before a frame could no longer be sent
            while select.select([self.socket], [], [], 0.0)[0]:
                if (code := self._ended()) is not None:
                    return code
        return None

    def _ended(self) -> int | None:
        """The error code with which the connection ends by what has come; None if it does not."""
        return next(
            (int(one.error_code) for one in self.events() if isinstance(one, h2.events.ConnectionTerminated)), None
        )


@pytest.fixture(scope="module")
def client(shared_proxy: Any) -> Iterator[Callable[[Any], Client]]:
    opened: list[Client] = []

    def connect(origin: Any) -> Client:
        opened.append(Client(shared_proxy, origin))
        return opened[-1]

    yield connect
    for made in opened:
        made.socket.close()


def rapid_reset(client: Client) -> None:
    client.connection.reset_stream(client.ask(), h2.errors.ErrorCodes.CANCEL)


def made_to_reset(client: Client) -> None:
    """A window that becomes too large is an error of the stream, which the server must reset."""
    stream_id = client.ask()
    update = WindowUpdateFrame(stream_id, window_increment=2**31 - 1).serialize()
    client.socket.sendall(client.connection.data_to_send() + update)
    client.connection.reset_stream(stream_id)
    client.connection.data_to_send()  # not sent: it only counts as closed here


def ping(client: Client) -> None:
    client.connection.ping(b"00000000")


def settings(client: Client) -> None:
    client.connection.update_settings({h2.settings.SettingCodes.MAX_FRAME_SIZE: 16_384})


def priority(client: Client) -> None:
    client.socket.sendall(PriorityFrame(1, depends_on=3, stream_weight=1).serialize())


@pytest.mark.parametrize("flood", [rapid_reset, made_to_reset, ping, settings, priority])
def test_a_flood_ends_its_connection_and_no_other(
    client: Callable[[Any], Client], start_origin: Any, authority: Any, flood: Callable[[Client], None]
) -> None:
    origin = start_origin({"/page": [0.0]}, authority.leaf_file)
    other = client(origin)
    assert other.answered()
    assert client(origin).ended_by(flood) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
    assert other.answered()
    assert client(origin).answered()


def test_who_changes_their_mind_as_clients_do_is_served_on(
    client: Callable[[Any], Client], start_origin: Any, authority: Any
) -> None:
    made = client(start_origin({"/page": [0.0]}, authority.leaf_file))
    for _ in range(100):
        rapid_reset(made)
        ping(made)
    assert made.answered()


def test_the_number_of_streams_is_announced(
    client: Callable[[Any], Client], start_origin: Any, authority: Any
) -> None:
    made = client(start_origin({"/page": [0.0]}, authority.leaf_file))
    assert made.answered()
    assert made.connection.remote_settings.max_concurrent_streams == 100
