"""What counts as a flood. (With sockets: `live/clients/test_floods`.)"""

import h2.config
import h2.connection
import h2.exceptions
import pytest

from bestbefore.addon.proxy.mitm.http2 import RESETS, RESETS_PER_S, CountingConnection, TokenBucket
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom

PSEUDO = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")]


def test_an_allowance_grows_again_with_time() -> None:
    bucket = TokenBucket(2, 10)
    assert [bucket.take(0.0) for _ in range(3)] == [True, True, False]
    assert [bucket.take(0.1) for _ in range(2)] == [True, False]
    assert bucket.take(-100.0) is False, "a clock that is set back gives nothing"
    assert [bucket.take(1000.0) for _ in range(3)] == [True, True, False]


def test_resets_end_the_connection_only_if_they_are_many_at_once() -> None:
    now_s = 0.0
    server = CountingConnection(h2.config.H2Configuration(client_side=False), lambda: now_s, KeptRoom())
    client = h2.connection.H2Connection()
    server.initiate_connection()
    client.initiate_connection()

    def reset() -> None:
        stream_id = client.get_next_available_stream_id()
        client.send_headers(stream_id, PSEUDO, end_stream=True)
        client.reset_stream(stream_id)
        server.receive_data(client.data_to_send())

    for _ in range(2 * RESETS):
        now_s += 1 / RESETS_PER_S
        reset()
    assert not server.is_flooded
    for _ in range(RESETS - 1):
        reset()
    assert not server.is_flooded
    with pytest.raises(h2.exceptions.DenialOfServiceError):
        reset()
