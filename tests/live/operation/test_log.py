"""What the log says of requests, tunnels and upgraded connections, beside what passed on the sockets."""

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

ANSWER = b"x" * 70_000
PAUSE_S = 0.3
ROUNDING = 1.1
"""The log gives two digits."""
LINE = r"(?P<verdict>\S+) +(?P<reason>\S+) +\S+ +(?P<code>\d+) +(?P<bytes>\S+) +(?P<took>\S+)  (?P<rest>.*)"


@pytest.fixture(scope="module")
def proxy(start_module_proxy: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("log") / "bestbefore.toml"
    file.write_text('[proxy]\npassthrough = ["localhost"]\n')
    return start_module_proxy("--config", str(file))


@pytest.fixture
def serve() -> Iterator[Callable[[bytes, bytes], int]]:
    """Starts origins that answer the first bytes of a connection with some and each later piece with others."""
    servers: list[socket.socket] = []

    def start(first: bytes, later: bytes) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        answer = first
                        while connection.recv(65536):
                            connection.sendall(answer)
                            answer = later

        threading.Thread(target=run, daemon=True).start()
        return int(server.getsockname()[1])

    yield start
    for server in servers:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def line_of(proxy: Any, words: str) -> dict[str, str]:
    found = re.search(LINE, line := proxy.wait_for_log(words))
    assert found is not None, line
    return found.groupdict()


def read(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := client.recv(65536)):
        data += more
    return data


def test_a_tunnel_is_logged_with_what_passed(proxy: Any, serve: Any) -> None:
    port = serve(ANSWER, b"")
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
        client.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"hello")
        assert read(client, len(ANSWER)) == ANSWER
    line = line_of(proxy, f"CONNECT localhost:{port}")
    assert (line["verdict"], line["reason"], line["bytes"]) == ("bypass", "passthrough", "70kB")


def test_a_tunnel_that_is_refused_or_leads_nowhere_is_logged(proxy: Any) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as nowhere:
        closed = nowhere.getsockname()[1]
    for host, port, code, reason in (("127.0.0.1", proxy.port, "403", "not-allowed"),
                                     ("localhost", closed, "502", "origin-unreachable")):  # fmt: skip
        with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
            client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            assert client.recv(65536).startswith(f"HTTP/1.1 {code} ".encode())
        line = line_of(proxy, f"CONNECT {host}:{port}")
        assert (line["verdict"], line["reason"], line["code"]) == ("refused", reason, code)
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
        client.sendall(f"CONNECT 127.0.0.1:{closed} HTTP/1.1\r\nHost: 127.0.0.1:{closed}\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200 "), "it is asked only if the store has no answer"
        time.sleep(0.2)  # silent, so that the origin is contacted
        client.sendall(b"hello\r\n")
        assert client.recv(65536) == b""
    line = line_of(proxy, f"CONNECT 127.0.0.1:{closed}")
    assert (line["verdict"], line["reason"]) == ("bypass", "origin-unreachable")
    assert line["rest"].endswith("(truncated)")


def test_a_websocket_is_logged_with_what_passed(proxy: Any, serve: Any) -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    port = serve(switching, b"\x82\x7e\x0f\xa0" + bytes(4000))  # a message of 4000 bytes
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
        client.sendall(
            f"GET http://127.0.0.1:{port}/chat HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n".encode()
        )
        assert client.recv(65536).startswith(b"HTTP/1.1 101 ")
        for _ in range(2):
            client.sendall(b"\x81\x83\x00\x00\x00\x00one")
            assert len(read(client, 4004)) == 4004
    line = line_of(proxy, f"{port}/chat")
    assert (line["reason"], line["code"], line["bytes"]) == ("upgrade", "101", "8kB")


def test_an_answer_to_an_upgrade_that_is_no_upgrade_is_counted(proxy: Any, serve: Any) -> None:
    port = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + bytes(5000), b"")
    fields = {"Connection": "Upgrade", "Upgrade": "websocket"}
    assert len(proxy.get(f"http://127.0.0.1:{port}/no", fields).body) == 5000
    assert line_of(proxy, f"{port}/no")["bytes"] == "5kB"


def test_the_same_content_again_is_refetched(proxy: Any, start_raw_origin: Any) -> None:
    """Many origins know no 304."""
    url = start_raw_origin(b'HTTP/1.1 200 OK\r\nETag: "1"\r\nCache-Control: no-cache\r\nContent-Length: 2\r\n\r\nok')
    for verdict in ("miss", "refetched"):
        proxy.get(url + "/page")
        assert line_of(proxy, url)["verdict"] == verdict


def test_the_time_counts_from_the_first_byte_of_the_request(proxy: Any) -> None:
    own = f"127.0.0.1:{proxy.port}"
    heads = {"/slow": b"GET http://bestbefore.test/slow HTTP/1.1\r\nHost: bestbefore.test\r\n\r\n",
             f"CONNECT {own}": f"CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n".encode()}  # fmt: skip
    for words, head in heads.items():
        for _ in range(5):  # a proxy that stands still reads both pieces at once
            began_s = time.monotonic()
            with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
                client.sendall(head[:10])
                time.sleep(PAUSE_S)
                client.sendall(head[10:])
                assert client.recv(65536)
            took = re.fullmatch(r"([\d.]+)(ms|s)", line_of(proxy, words)["took"])
            assert took is not None
            took_s = float(took[1]) * {"ms": 0.001, "s": 1.0}[took[2]]
            assert took_s / ROUNDING < time.monotonic() - began_s
            if took_s * ROUNDING > PAUSE_S:
                break
        else:
            pytest.fail(f"{words}: the time counts from a later byte")


def test_a_log_file_is_continued_in_a_new_file_after_a_hang_up(
    start_proxy: Any, bestbefore: Any, start_raw_origin: Any, serve: Any, tmp_path: Path
) -> None:
    """To its end: a tunnel that is open then has a line, too."""
    url = start_raw_origin(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")
    file, old = tmp_path / "access.log", tmp_path / "access.log.1"
    proxy = start_proxy("--log-file", str(file), "--log-format", "squid")
    proxy.get(url + "/1")
    wait_until(lambda: file.stat().st_size)
    file.rename(old)
    proxy.process.send_signal(signal.SIGHUP)
    wait_until(file.exists)
    proxy.get(url + "/2?a=b")
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
        port = serve(b"ok", b"")
        client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"hello\r\n")
        assert client.recv(65536) == b"ok"
        assert proxy.stop() == 0
    assert f" TCP_TUNNEL_ABORTED/200 2 CONNECT 127.0.0.1:{port} " in file.read_text()
    assert "/1" not in proxy.output(), "the lines are in the file"
    for path, target in ((old, "/1"), (file, "/2")):
        bestbefore("convert", path, tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_text().splitlines()[1].split(",")[2] == url + target


def test_a_log_for_programs_has_standard_output_to_itself(start_proxy: Any, tmp_path: Path) -> None:
    config = tmp_path / "bestbefore.toml"
    config.write_text("[proxy]\nlog_query = true\n")
    proxy = start_proxy("--log-format", "json", "--config", str(config))
    proxy.get("http://bestbefore.test/no?a=b", {"User-Agent": "me"})
    line = json.loads(proxy.wait_for_log("{"))
    assert (line["url"], line["status"], line["agent"]) == ("http://bestbefore.test/no?a=b", 404, "me")
    assert (line["protocol"], line["user"]) == ("HTTP/1.1", "")


def wait_until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_log_of_another_day_is_renamed_and_all_workers_go_on_in_a_new_one(
    start_proxy: Any, start_raw_origin: Any, tmp_path: Path, workers: int
) -> None:
    log, config = tmp_path / "access.log", tmp_path / "bestbefore.toml"
    log.write_text("of another day\n")
    os.utime(log, (1_706_227_200, 1_706_227_200))
    (tmp_path / "access.log.2023-12-01").touch()
    config.write_text(f'[proxy]\nworkers = {workers}\nlog_file = "{log.name}"\nlog_keep = "3650d"\n')
    proxy = start_proxy("--config", str(config))
    renamed = tmp_path / "access.log.2024-01-26"
    wait_until(lambda: renamed.exists() and log.exists())
    url = start_raw_origin(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok")
    for number in range(20):  # on connections of their own, so that each worker has some
        proxy.get(f"{url}/{number}")
    wait_until(lambda: len(log.read_text().splitlines()) >= 20)
    assert renamed.read_text() == "of another day\n"
    assert (tmp_path / "access.log.2023-12-01").exists()
