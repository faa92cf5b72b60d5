"""Four proxies on one cluster behind HAProxy, with clocks that differ by seconds."""

import asyncio
import itertools
import re
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
HAPROXY = Path(__file__).parents[3] / "deploy" / "haproxy" / "haproxy.cfg"
CLOCKS_S = (-3.0, 0.0, 2.0, 5.0)
"""By how much the clock of each proxy is ahead."""
CLIENTS = 100
WITHIN_S = 5.0
"""Within which all proxies know of an invalidation: it is published at once, and the rest is the tests' machine."""
PATIENCE_S = 90.0
ANCHOR_S = time.time()
"""When fast clocks show the real time."""
FACTOR = 60
OBJECTS, PAGES = 8, 50_000
HOUR_S = 3600.0
BUDGET = 48
"""Fetches in an hour, which is a minute: each object every ten minutes, and not four times as often."""
PREFETCHING = f"""
[prefetch]
enabled = true
budget = "{BUDGET}/hour"
objective = "uniform"
timing = "even"
per_host_interval = "20s"
user_agent = "fleet-test"
"""


@dataclass(frozen=True)
class Fleet:
    """Proxies, and the port at which HAProxy divides requests among them."""

    port: int
    proxies: list[Any]
    start: Start
    """Starts another, which has a name, a clock, and further options."""

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

    def in_progress(self) -> float:
        """How many requests the proxies are answering."""
        gauges = [re.search(r"^bestbefore_requests_in_progress (\S+)", one.metrics(), re.M) for one in self.proxies]
        return sum(float(gauge[1]) for gauge in gauges if gauge is not None)

    def having(self, url: str) -> int:
        """How many of the proxies have a copy that they may serve."""
        return sum(proxy.get(url, {"Cache-Control": "only-if-cached"}).status == 200 for proxy in self.proxies)


@pytest.fixture
def start_fleet(
    start_proxy: Start, start_process: Start, cluster: list[Any], tmp_path: Path, free_port: Callable[[], int]
) -> Callable[..., Fleet]:
    """Starts proxies, with further options, on the cluster, and HAProxy."""
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in cluster)

    def start(clocks_s: Sequence[float], factor: float, *options: str) -> Fleet:
        def start_one(name: str, ahead_s: float, *further: str) -> Any:
            env = {"BESTBEFORE_CLOCK": f"{policy_time_s(factor) + ahead_s},{factor}"}
            store = ("--quiet", "--store", f"redis+cluster://{seeds}", *options, *further)
            return start_proxy(*store, state=tmp_path / name, env=env)

        proxies = [start_one(str(i), ahead_s) for i, ahead_s in enumerate(clocks_s)]
        port = free_port()
        # Each request to the next proxy: what they do not share shows.
        text = HAPROXY.read_text().replace(":3128", f":{port}").replace("balance uri", "balance roundrobin")
        text = text.replace("default-server send-proxy-v2", "")  # the tests also ask the proxies themselves
        for i, proxy in enumerate(proxies, 1):
            text = text.replace(f"proxy{i}.example:8080", f"127.0.0.1:{proxy.port} check port {admin_port(proxy)}")
        (tmp_path / "haproxy.cfg").write_text(text)
        start_process(["haproxy", "-db", "-q", "-f", tmp_path / "haproxy.cfg"], stderr=subprocess.DEVNULL)
        until(lambda: is_open(port))
        return Fleet(port, proxies, start_one)

    return start


def policy_time_s(factor: float) -> float:
    return ANCHOR_S + factor * (time.time() - ANCHOR_S)


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


async def test_they_share_contacts_and_invalidations(start_fleet: Start, start_origin: Start) -> None:
    fleet = start_fleet(CLOCKS_S, 1)
    asked = asyncio.Event()

    async def all_have_asked() -> None:
        """Return two seconds after the proxies have the requests of all clients: then they have asked the store."""
        while not asked.is_set():
            in_progress = await asyncio.to_thread(fleet.in_progress)
            await asyncio.sleep(2.0)
            if in_progress == CLIENTS:
                asked.set()

    for lifetime in ("max-age=60", "max-age=0"):
        async with serving(SlowOrigin("Cache-Control: " + lifetime, 'ETag: "1"')) as origin:
            asked.clear()
            origin.ready = all_have_asked
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


def test_nothing_fails_when_one_is_killed_and_one_joins_and_they_keep_to_one_plan(
    start_fleet: Start, start_origin: Start, tmp_path: Path
) -> None:
    (tmp_path / "proxy.toml").write_text(PREFETCHING)
    fleet = start_fleet([0.0] * 4, FACTOR, "--config", str(tmp_path / "proxy.toml"))
    origin = start_origin({f"/{i}": [ANCHOR_S - 86_400.0] for i in range(OBJECTS)})
    origin.now = lambda: policy_time_s(FACTOR) - 120.0
    pages = start_origin({f"/{i}": [] for i in range(PAGES)})
    pages.extra = {"Cache-Control": "max-age=86400"}
    killed, ended, statuses = fleet.proxies[1], threading.Event(), Counter[int]()

    def fetched(since_s: float = 0.0) -> list[Any]:
        return [
            one for one in origin.contacts
            if one.fields.get("user-agent") == "fleet-test" and one.path != "/robots.txt" and one.at_s >= since_s
        ]  # fmt: skip

    def ask(client: int) -> None:
        for n in itertools.count(client, 4):
            statuses[fleet.get(f"{pages.url}/{n % PAGES}")] += 1
            if ended.wait(0.02):
                return

    for _ in range(3):
        for i in range(OBJECTS):
            assert fleet.get(f"{origin.url}/{i}", Cache_Control="no-cache") == 200
    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(ask, i) for i in range(4)]
        try:
            until(lambda: len({one.path for one in fetched()}) == OBJECTS)
            killed.process.kill()
            killed_s = time.time()
            until(lambda: {one.path for one in fetched(killed_s + 1.0)} == set(origin.updates))
            address = ("--listen", f"127.0.0.1:{killed.port}", "--admin", f"127.0.0.1:{admin_port(killed)}")
            joined = fleet.start("joined", 0.0, *address)
            until(lambda: joined.metrics().count("bestbefore_requests_total{") > 0)
        finally:
            ended.set()
        for one in asking:
            one.result()
    passed_s = time.time() - fetched()[0].at_s
    assert set(statuses) == {200}
    assert len(fetched()) <= BUDGET * FACTOR / HOUR_S * passed_s + OBJECTS
