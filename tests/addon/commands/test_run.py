"""What `bestbefore run` refuses before the command runs."""

import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bestbefore.addon import cli

Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    def run(*arguments: str) -> tuple[int, str]:
        status = cli.run(["run", *arguments, "--", "true"])
        return status, capsys.readouterr().err

    return run


def test_without_a_proxy_it_says_how_to_start_one(refused: Refused, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    status, why = refused("--proxy", url.replace("//", "//me:secret@"), "--state", str(tmp_path))
    assert status == 1
    assert why == (
        f"bestbefore: no proxy answers at {url} (Connection refused): start one with `bestbefore proxy`, or name "
        "another with --proxy URL\n"
    )


@pytest.mark.parametrize(
    "url", ["localhost:8080", "https://localhost:8080", "http://localhost", "http://a:b/c", "http://[a"]
)
def test_an_address_that_is_none_is_refused(refused: Refused, url: str) -> None:
    assert refused("--proxy", url) == (2, f"bestbefore: --proxy {url}: expected http://HOST:PORT\n")


def test_a_port_that_the_system_chose_is_not_guessed(refused: Refused, tmp_path: Path) -> None:
    config = tmp_path / "bestbefore.toml"
    config.write_text('[proxy]\nlisten = "127.0.0.1:0"\n')
    status, why = refused("--config", str(config))
    assert (status, "give --proxy URL" in why) == (2, True)


def test_a_server_that_is_no_proxy_of_ours_is_refused(refused: Refused) -> None:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        status, why = refused("--proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert (status, "gives no certificate (status 404)" in why) == (1, True)
