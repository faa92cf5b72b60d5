"""A proxy with few file descriptors, and more clients than it can have."""

import json
import re
import socket
import time
import urllib.request
from contextlib import ExitStack, suppress
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 20.0
LIMIT = 256
UNDER = ("sh", "-c", f'ulimit -n {LIMIT} && exec "$@"', "sh")


def connect(proxy: Any, opened: ExitStack) -> socket.socket:
    return opened.enter_context(socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_S))


def said(proxy: Any) -> list[str]:
    lines = []
    while not proxy.lines.empty():
        lines.append(proxy.lines.get())
    return lines


def show(proxy: Any, path: str) -> str:
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", proxy.greeting)
    assert url is not None
    with urllib.request.urlopen(url[0].replace("/metrics", path), timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
    return text


def get(client: socket.socket, url: str) -> bytes:
    client.sendall(f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n\r\n".encode())
    return client.recv(65536)


@pytest.mark.slow
def test_a_client_beyond_the_bound_is_refused_at_once_and_others_served(start_proxy: Any, start_origin: Any) -> None:
    proxy, origin = start_proxy(under=UNDER), start_origin({"/page": [0.0]})
    with ExitStack() as opened:
        clients = [connect(proxy, opened) for _ in range(LIMIT + 50)]
        answers = []
        for client in clients:
            client.settimeout(0.02)
            with suppress(TimeoutError, ConnectionError):
                answers.append(client.recv(1000))
        assert sum(answer.startswith(b"HTTP/1.1 503 ") for answer in answers) > LIMIT / 2
        clients[0].settimeout(PATIENCE_S)
        assert get(clients[0], f"{origin.url}/page").startswith(b"HTTP/1.1 200 ")
        assert json.loads(show(proxy, "/healthz"))["connections"] == "too many"
        refused = re.search(r'bestbefore_refused_total\{kind="connections"\} (\S+)', show(proxy, "/metrics"))
        assert refused is not None
        assert float(refused[1]) > LIMIT / 2
    lines = [line for line in said(proxy) if "WARNING" in line or "ERROR" in line]
    assert len(lines) == 1, lines
    assert "refused at a limit since the last such line" in lines[0]


@pytest.mark.slow
def test_an_idle_connection_makes_room_for_a_new_one(start_proxy: Any, start_origin: Any) -> None:
    proxy, origin = start_proxy(under=UNDER), start_origin({"/page": [0.0]})
    with ExitStack() as opened:
        for _ in range(LIMIT):
            connect(proxy, opened)
        time.sleep(6.0)
        assert get(connect(proxy, opened), f"{origin.url}/page").startswith(b"HTTP/1.1 200 ")


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
    time.sleep(1.0)
    with ExitStack() as opened:
        assert get(connect(proxy, opened), f"{origin.url}/page").startswith(b"HTTP/1.1 200 ")
    lines = [line for line in said(proxy) if "WARNING" in line or "ERROR" in line]
    assert len(lines) <= 1, lines[:5]
