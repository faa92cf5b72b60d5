"""A subscription at a hub of the library flask-websub, by its own protocol of publishers."""

import gzip
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]

FACTOR = 300.0
LEASE_S = 1800
"""As the hub grants it, 6 s of a test."""


@pytest.fixture(scope="module")
def library() -> Path:
    """The folder in which flask-websub and Celery are installed."""
    folder = os.environ.get("WEBSUB_HUB_DIR")
    if folder:
        return Path(folder)
    reason = "WEBSUB_HUB_DIR is not set to a folder with flask-websub and celery (docs/contributing.md)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Feed:
    """A feed that declares its hub in its Link field and in itself, and is published by saying so to that hub."""

    hub: str
    items: int = 1
    url: str = ""
    now: Callable[[], float] = time.time
    contacts: list[str] = field(default_factory=list)
    """The names of those who have asked for it."""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.contacts.append(handler.headers.get("User-Agent", ""))
        links = {"hub": self.hub, "self": self.url}
        listed = "".join(f"<item><guid>{n}</guid></item>" for n in range(self.items))
        body = f'<rss version="2.0"><channel><title>t</title>{listed}</channel></rss>'.encode()
        tag, coding = f'"{self.items}"', "gzip" in handler.headers.get("Accept-Encoding", "")
        is_same = handler.headers.get("If-None-Match", "").removeprefix("W/") == tag
        handler.send_response_only(304 if is_same else 200)
        body = b"" if is_same else gzip.compress(body) if coding else body
        fields = {
            "Date": formatdate(self.now(), usegmt=True),
            "ETag": tag,
            "Content-Type": "application/rss+xml",
            "Link": ", ".join(f'<{target}>; rel="{relation}"' for relation, target in links.items()),
            "Vary": "Accept-Encoding",
        }
        if not is_same:
            fields |= {"Content-Length": str(len(body))} | ({"Content-Encoding": "gzip"} if coding else {})
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def publish(self) -> None:
        """Post an item, and say so to the hub."""
        self.items += 1
        with urlopen(self.hub, urlencode({"hub.mode": "publish", "hub.topic": self.url}).encode(), 30.0) as answer:
            assert answer.status == 202


def policy_time(proxy: Any) -> Callable[[], float]:
    """The clock of a proxy, to a second of it."""
    ahead_s = proxy.policy_time_s() - FACTOR * time.monotonic()
    return lambda: ahead_s + FACTOR * time.monotonic()


def wait_for(done: Callable[[], bool], patience_s: float = 60.0) -> None:
    end = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def hub(library: Path, start_process: Any, tmp_path: Path) -> "Popen[str]":
    """A running hub."""
    script = Path(__file__).with_name("flask_websub_hub.py")
    environment = {**os.environ, "PYTHONPATH": str(library)}
    with (tmp_path / "hub.log").open("w") as log:
        command = [sys.executable, script, tmp_path, str(LEASE_S)]
        hub: Popen[str] = start_process(command, env=environment, stdout=PIPE, stderr=log, text=True)
    return hub


def test_a_real_hub_takes_the_place_of_polls_until_it_is_gone(
    hub: "Popen[str]", start_origin: Any, start_proxy: Any, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    assert hub.stdout is not None
    feed = Feed(f"http://127.0.0.1:{int(hub.stdout.readline())}/hub")
    origin = start_origin({})
    origin.answer, feed.url = feed.answer, origin.url + "/feed"
    port, config = free_port(), tmp_path / "proxy.toml"
    config.write_text(
        '[default]\npolicy = "fixed"\ninterval = "1d"\nprefetch_least = "288/day"\n'  # each second of the test
        '[prefetch]\nenabled = true\nbudget = "1000/day"\nrobots = false\nper_host_interval = 0\n'
        f'[websub]\nlisten = "127.0.0.1:{port}"\ncallback_url = "http://127.0.0.1:{port}"\n'
    )
    proxy = start_proxy("--config", str(config), env={"BESTBEFORE_CLOCK": f"now,{FACTOR}"})
    feed.now = policy_time(proxy)

    def count(name: str) -> float:
        name = f"bestbefore_{name}"
        return float(proxy.metric(name)) if name in proxy.metrics() else 0.0

    def contacts() -> int:
        return sum("requests" not in agent for agent in feed.contacts)  # which is the hub's library

    def is_left_alone() -> bool:
        before = contacts()
        time.sleep(1.5)
        return contacts() == before

    verified, pushes = 'websub_total{result="verified"}', 'signals_total{kind="websub",result="%s"}'
    assert [proxy.get(feed.url).status for _ in range(2)] == [200, 200]
    wait_for(lambda: count(verified) == 1.0)
    wait_for(is_left_alone)  # as changes are pushed
    before = contacts()
    feed.publish()
    wait_for(lambda: contacts() > before)
    wait_for(lambda: b"<guid>1</guid>" in proxy.get(feed.url).body)
    assert proxy.get(feed.url).is_hit
    assert [count(pushes % result) for result in ("believed", "right", "wrong")] == [1.0, 1.0, 0.0]
    assert count('websub_total{result="signed"}') == 1.0
    leases = count(verified)
    wait_for(lambda: count(verified) > leases)
    hub.kill()
    feed.items, before = 3, contacts()
    wait_for(lambda: b"<guid>2</guid>" in proxy.get(feed.url).body)
    assert contacts() > before
