"""SIGTERM: requests in progress are answered, and nothing else is waited for."""

import signal
import socket
import threading
import time
from contextlib import closing
from typing import Any

from bestbefore.addon.proxy.service import DRAIN_S


def test_requests_in_progress_are_answered_and_then_it_ends_at_once(start_proxy: Any) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            asked.set()
            may_answer.wait(60)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=9\r\n\r\ndone")

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=serve, daemon=True).start()
        proxy = start_proxy()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with (
            closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as idle,
            closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client,
        ):
            idle.sendall(b"GET http://bestbefore.test/clock HTTP/1.1\r\nHost: bestbefore.test\r\n\r\n")
            assert idle.recv(65536)
            client.sendall(f"GET {url} HTTP/1.1\r\nHost: {url[7:-1]}\r\n\r\n".encode())
            assert asked.wait(60)
            told_s = time.monotonic()
            proxy.process.send_signal(signal.SIGTERM)
            refused_by = time.monotonic() + 20
            while accepts(proxy.port):
                assert time.monotonic() < refused_by, "it still accepts connections"
            assert proxy.process.poll() is None
            may_answer.set()
            answer = b""
            while more := client.recv(65536):
                answer += more
            assert answer.endswith(b"\r\n\r\ndone")
            assert proxy.process.wait(60) == 0
            assert time.monotonic() - told_s < DRAIN_S, "so long it would wait for answers"


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
