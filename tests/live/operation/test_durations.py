"""How long requests took, as the log and the metrics say it, beside what the client measured."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

pytestmark = pytest.mark.live

DELAY_S = 0.6
ROUNDING = 1.1
"""The log gives two digits."""
UNITS_S = {"ms": 0.001, "s": 1.0}


@pytest.fixture
def slow_origin() -> Iterator[str]:
    """Answers each request after `DELAY_S`, half of it within the content."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    time.sleep(DELAY_S / 2)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nab")
                    time.sleep(DELAY_S / 2)
                    connection.sendall(b"cd")

    threading.Thread(target=serve, daemon=True).start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def metered_s(proxy: Any, contact: str) -> float:
    found: float = proxy.metric(f'bestbefore_request_duration_seconds_sum{{contact="{contact}"}}')
    return found


def logged_s(line: str) -> float:
    found = re.search(r" ([\d.]+)(ms|s)  (?:[A-Z]+ )?http", line)
    assert found is not None, line
    return float(found[1]) * UNITS_S[found[2]]


WEBSOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "x"
}


@pytest.mark.parametrize(
    ("method", "lines"), [("POST", {"Content-Length": "0"}), ("GET", WEBSOCKET)], ids=["fetched", "forwarded"]
)
def test_a_request_took_as_long_as_its_origin(
    method: str, lines: dict[str, str], shared_proxy: Any, slow_origin: str
) -> None:
    """Of what is fetched, and of what mitmproxy forwards because it asks its connection to change."""
    proxy, url = shared_proxy, f"{slow_origin}/{method}"
    before_s, began_s = metered_s(proxy, "yes"), time.monotonic()
    assert proxy.get(url, lines, method=method).body == b"abcd"
    logged = logged_s(proxy.wait_for_log(url))
    took_s = metered_s(proxy, "yes") - before_s
    passed_s = time.monotonic() - began_s
    assert DELAY_S / ROUNDING <= logged <= passed_s * ROUNDING
    assert DELAY_S <= took_s <= passed_s


def test_a_miss_took_as_long_as_its_origin_and_the_hit_after_it_as_little_as_it_did(
    shared_proxy: Any, slow_origin: str
) -> None:
    proxy, url = shared_proxy, f"{slow_origin}/page"
    for contact, least_s in (("yes", DELAY_S), ("no", 0.0)):
        before_s, began_s = {label: metered_s(proxy, label) for label in ("yes", "no")}, time.monotonic()
        assert proxy.get(url).is_hit is (contact == "no")
        logged = logged_s(proxy.wait_for_log(url))
        took_s = {label: metered_s(proxy, label) - before_s[label] for label in ("yes", "no")}
        passed_s = time.monotonic() - began_s
        assert least_s / ROUNDING <= logged <= passed_s * ROUNDING
        assert least_s < took_s.pop(contact) <= passed_s
        assert set(took_s.values()) == {0.0}
