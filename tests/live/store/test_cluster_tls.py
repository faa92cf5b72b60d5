"""A cluster whose nodes speak TLS: HAProxy before each does, as the embedded server's binary cannot."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from certificates_made import Issuer
from test_balancer import until_open

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy (Debian's package) is not installed"),
]

Start = Callable[..., Any]
PATHS = 32


def before(port: int, node: Any, certificate: Path) -> str:
    return f"listen at{port}\n bind 127.0.0.1:{port} ssl crt {certificate}\n server node 127.0.0.1:{node.port}\n"


@pytest.fixture
def tls_ports(
    start_valkey: Start, start_process: Start, free_port: Callable[[], int], authority: Any, tmp_path: Path
) -> list[int]:
    """The ports of two nodes, which announce them and the name `localhost`."""
    ports = [free_port() for _ in range(2)]
    named = ("--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname")
    nodes = [start_valkey("--cluster-enabled", "yes", *named, "--cluster-announce-port", str(port)) for port in ports]
    text = "defaults\n timeout connect 60s\n timeout client 60s\n timeout server 60s\n"
    text += "".join(before(port, node, authority.leaf_file) for port, node in zip(ports, nodes, strict=True))
    (tmp_path / "tls.cfg").write_text(text)
    start_process(["haproxy", "-db", "-q", "-f", tmp_path / "tls.cfg"], stderr=subprocess.DEVNULL)
    clients = [node.client for node in nodes]
    for client, slots in zip(clients, [(0, 8191), (8192, 16383)], strict=True):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
    clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, int(nodes[1].settings[-1]))
    end = time.monotonic() + 90.0
    while not all(client.execute_command("CLUSTER", "INFO").startswith(b"cluster_state:ok") for client in clients):
        assert time.monotonic() < end
        time.sleep(0.05)
    for port in ports:
        until_open(port)
    return ports


def test_the_certificates_of_its_nodes_are_verified(
    start_proxy: Start, start_origin: Start, tls_ports: list[int], authority: Any, tmp_path: Path
) -> None:
    origin = start_origin({f"/{i}": [] for i in range(PATHS)})
    origin.extra = {"Cache-Control": "max-age=600"}
    (tmp_path / "other.pem").write_bytes(Issuer("Other", tmp_path).pem)
    address = f"rediss+cluster://localhost:{tls_ports[0]}?ssl_ca_certs="
    for name in ("one", "two"):
        proxy = start_proxy("--store", f"{address}{authority.ca_file}", state=tmp_path / name)
        assert "down" not in proxy.greeting
        for i in range(PATHS):
            assert proxy.get(f"{origin.url}/{i}").status == 200
        proxy.has_written()
    assert len(origin.contacts) == PATHS, "the second has the copies of the first, from both nodes"
    refusing = start_proxy("--store", f"{address}{tmp_path}/other.pem", state=tmp_path / "three")
    assert "the store is down" in refusing.greeting
    assert "certificate verify failed" in refusing.greeting
    assert refusing.get(f"{origin.url}/0").status == 200
    assert len(origin.contacts) == PATHS + 1
