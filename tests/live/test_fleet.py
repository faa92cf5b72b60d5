"""Four proxies on one cluster behind HAProxy, with clocks that differ by seconds."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from test_stampede import SlowOrigin, all_at_once, get, serving

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy (Debian's package) is not installed"),
]

Start = Callable[..., Any]
HAPROXY = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
CLOCKS_S = (-3.0, 0.0, 2.0, 5.0)
"""By how much the clock of each proxy is ahead."""
CLIENTS = 100
WITHIN_S = 1.0
"""Within which all proxies know of an invalidation."""
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Fleet:
    """Proxies, and the port at which HAProxy divides requests among them."""

    port: int
    proxies: list[Any]

    def get(self, url: str, method: str = "GET", body: bytes | None = None, **fields: str) -> int:
        """The status of a response."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, url, body, {name.replace("_", "-"): value for name, value in fields.items()})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def having(self, url: str) -> int:
        """How many of the proxies have a copy that they may serve."""
        return sum(proxy.get(url, {"Cache-Control": "only-if-cached"}).status == 200 for proxy in self.proxies)


@pytest.fixture
def fleet(start_proxy: Start, start_process: Start, cluster: list[Any], tmp_path: Path, free_port: Any) -> Fleet:
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in cluster)
    options = ("--quiet", "--store", f"redis+cluster://{seeds}")
    proxies = [
        start_proxy(*options, state=tmp_path / str(i), env={"BESTBEFORE_CLOCK": f"{time.time() + ahead_s},1"})
        for i, ahead_s in enumerate(CLOCKS_S)
    ]
    port = free_port()
    # Each request to the next proxy: what they do not share shows.
    text = HAPROXY.read_text().replace(":3128", f":{port}").replace("balance uri", "balance roundrobin")
    for i, proxy in enumerate(proxies, 1):
        text = text.replace(f"proxy{i}.example:8080", f"127.0.0.1:{proxy.port} check port {admin_port(proxy)}")
    (tmp_path / "haproxy.cfg").write_text(text)
    start_process(["haproxy", "-db", "-q", "-f", tmp_path / "haproxy.cfg"], stderr=subprocess.DEVNULL)
    until(lambda: is_open(port))
    return Fleet(port, proxies)


def admin_port(proxy: Any) -> int:
    found = re.search(r"metrics +http://127.0.0.1:(\d+)", proxy.greeting)
    assert found is not None
    return int(found[1])


def is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> float:
    """Wait for a condition; how long it took, s."""
    began_s = time.monotonic()
    while not condition():
        assert time.monotonic() < began_s + within_s
        time.sleep(0.02)
    return time.monotonic() - began_s


async def test_they_share_contacts_and_invalidations(fleet: Fleet, start_origin: Start) -> None:
    for lifetime in ("max-age=60", "max-age=0"):
        async with serving(SlowOrigin("Cache-Control: " + lifetime, 'ETag: "1"')) as origin:
            origin.delay_s = 6.0  # clocks differ by as much, and a little is computed
            answers = await all_at_once(CLIENTS, lambda: get(fleet, origin.url + "/"))
            assert {body for _, body in answers} == {origin.body}
            passed = {line for head, _ in answers for line in head.lower().split(b"\r\n") if line.startswith(b"via:")}
            assert len(passed) == len(CLOCKS_S)
            assert origin.contacts == 1, lifetime
    origin = start_origin({"/page": []})
    origin.extra = {"Cache-Control": "max-age=600"}
    for invalidate in (
        lambda: fleet.proxies[2].get(f"{origin.url}/page", method="PURGE").status,
        lambda: fleet.get(f"{origin.url}/page", "POST", b"x"),
    ):
        assert fleet.get(f"{origin.url}/page") == 200
        until(lambda: fleet.having(f"{origin.url}/page") == len(CLOCKS_S))
        assert invalidate() in (200, 204)
        took_s = until(lambda: fleet.having(f"{origin.url}/page") == 0)
        assert took_s < WITHIN_S
