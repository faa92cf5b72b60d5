"""The state of a connection of h2 after streams that h2 has not seen: as if it had (`test_http2_hits` has more)."""

import h2
import h2.config
import h2.connection
import pytest
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

from bestbefore.addon.proxy.mitm.wire import open_http2
from bestbefore.addon.proxy.mitm.wire.open_http2 import LARGEST_WINDOW, OpenHttp2

PSEUDO = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")]


def test_the_installed_h2_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_http2.is_known()
    monkeypatch.setattr(h2, "__version__", "99.0")
    assert not open_http2.is_known()


@pytest.fixture
def client() -> h2.connection.H2Connection:
    made = h2.connection.H2Connection()
    made.initiate_connection()
    return made


@pytest.fixture
def server(client: h2.connection.H2Connection) -> BufferedH2Connection:
    """Has answered one request."""
    made = BufferedH2Connection(h2.config.H2Configuration(client_side=False))
    made.initiate_connection()
    client.send_headers(1, PSEUDO, end_stream=True)
    made.receive_data(client.data_to_send())
    assert not OpenHttp2(made).is_idle
    made.send_headers(1, [(":status", "204")], end_stream=True)
    client.receive_data(made.data_to_send())
    made.receive_data(client.data_to_send())
    made.data_to_send()
    return made


def test_a_stream_is_known_as_closed_afterwards(
    server: BufferedH2Connection, client: h2.connection.H2Connection
) -> None:
    connection = OpenHttp2(server)
    assert connection.is_idle
    assert [connection.may_open(number) for number in (1, 2, 3, 2**31 + 1)] == [False, False, True, False]
    before = server.outbound_flow_control_window
    assert connection.send(3, 100)
    assert server.outbound_flow_control_window == before - 100
    assert not connection.may_open(3)
    for number in (3, 5):
        client.send_headers(number, PSEUDO, end_stream=True)
        if number == 3:
            client.data_to_send()  # answered past h2
            client.reset_stream(3)
    assert [event.stream_id for event in server.receive_data(client.data_to_send())] == [5, 5]  # type: ignore[attr-defined]


def test_windows_bound_what_is_sent_and_are_opened(server: BufferedH2Connection) -> None:
    connection, initial = OpenHttp2(server), 65_535
    assert not connection.send(3, initial + 1)
    assert connection.send(3, initial)
    assert not connection.send(5, 1)
    assert connection.widen(0, 10)
    assert connection.send(5, 10)
    assert connection.widen(3, 10), "of no use"
    assert not connection.widen(0, 0)
    assert not connection.widen(0, LARGEST_WINDOW + 1)
    assert not connection.widen(7, 10), "h2 ends the connection"
    assert connection.widen(0, LARGEST_WINDOW)
    assert not connection.widen(0, 1)


def test_nothing_is_idle_within_a_frame_or_a_block(
    server: BufferedH2Connection, client: h2.connection.H2Connection
) -> None:
    client.max_outbound_frame_size = 16_384
    client.send_headers(3, [*PSEUDO, ("x", "y" * 20_000)], end_stream=True)
    data, connection = client.data_to_send(), OpenHttp2(server)
    server.receive_data(data[:5])
    assert not connection.is_idle
    first = 9 + int.from_bytes(data[:3])
    server.receive_data(data[5:first])
    assert not connection.is_idle
    server.receive_data(data[first:])
    assert connection.is_idle
