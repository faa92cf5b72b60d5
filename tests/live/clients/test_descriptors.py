"""A proxy with few file descriptors, and more clients than it can have."""

import json
import re
import selectors
import socket
import time
import urllib.request
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from whole_answer import read_answer

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
LIMIT = 256
UNDER = ("sh", "-c", f'ulimit -n {LIMIT} && exec "$@"', "sh")


def connect(proxy: Any, opened: ExitStack) -> socket.socket:
    return opened.enter_context(socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_S))


def warnings(proxy: Any) -> list[str]:
    return [line for line in proxy.output().splitlines() if "WARNING" in line or "ERROR" in line]


def show(proxy: Any, path: str) -> str:
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", proxy.greeting)
    assert url is not None
    with urllib.request.urlopen(url[0].replace("/metrics", path), timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
    return text


def get(client: socket.socket, url: str) -> bytes:
    client.sendall(f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n\r\n".encode())
    return read_answer(client)


def wait_for_refusals(clients: list[socket.socket], wanted: int) -> None:
    """Wait until so many of the clients, which have asked for nothing, are told that there are too many."""
    refused = 0
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client, selectors.EVENT_READ, client)
        while refused < wanted:
            ready = selector.select(PATIENCE_S)
            assert ready, f"{refused} of {wanted} are refused"
            for key, _ in ready:
                selector.unregister(key.fileobj)
                with suppress(ConnectionError):
                    refused += key.data.recv(1000).startswith(b"HTTP/1.1 503 ")


def served_in_the_end(proxy: Any, url: str) -> bool:
    """Whether a new client is answered, at once or, on a busy machine, when it has tried again a few times."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        with suppress(ConnectionError), ExitStack() as opened:
            if get(connect(proxy, opened), url).startswith(b"HTTP/1.1 200 "):
                return True
        time.sleep(0.5)
    return False


@pytest.mark.slow
def test_a_client_beyond_the_bound_is_refused_at_once_and_others_served(start_proxy: Any, start_origin: Any) -> None:
    proxy, origin = start_proxy(under=UNDER), start_origin({"/page": [0.0]})
    with ExitStack() as opened:
        clients = [connect(proxy, opened) for _ in range(LIMIT + 50)]
        wait_for_refusals(clients, LIMIT // 2 + 1)
        assert get(clients[0], f"{origin.url}/page").startswith(b"HTTP/1.1 200 ")
        assert json.loads(show(proxy, "/healthz"))["connections"] == "too many"
        counted = re.search(r'bestbefore_refused_total\{kind="connections"\} (\S+)', show(proxy, "/metrics"))
        assert counted is not None
        assert float(counted[1]) > LIMIT / 2
        proxy.wait_for_log("refused at a limit")
    lines = warnings(proxy)
    assert len(lines) == 1, lines
    assert "refused at a limit since the last such line" in lines[0]


@pytest.mark.slow
def test_an_idle_connection_makes_room_for_a_new_one(start_proxy: Any, start_origin: Any) -> None:
    proxy, origin = start_proxy(under=UNDER), start_origin({"/page": [0.0]})
    with ExitStack() as opened:
        for _ in range(LIMIT):
            connect(proxy, opened)
        time.sleep(6.0)
        assert served_in_the_end(proxy, f"{origin.url}/page")


@pytest.mark.slow
def test_at_the_limit_of_the_system_nothing_floods_the_log(start_proxy: Any, start_origin: Any) -> None:
    proxy, origin = start_proxy(under=UNDER), start_origin({"/page": [0.0]})
    for _ in range(10):
        with ExitStack() as opened:
            for _ in range(2 * LIMIT):
                client = opened.enter_context(socket.socket())
                client.setblocking(False)
                with suppress(BlockingIOError):
                    client.connect(("127.0.0.1", proxy.port))
            time.sleep(0.2)
    assert served_in_the_end(proxy, f"{origin.url}/page")
    lines = warnings(proxy)
    assert len(lines) <= 1, lines[:5]
