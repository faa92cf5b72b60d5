"""A hub and edges as real processes: what crosses the channel, and what happens when it fails."""

import shutil
import signal
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
STREAM = "bb1:channel:{all}:messages"
HUB = '[hub]\npublish = ["127.0.0.1"]\nheartbeat = "0.1s"\nbandwidth = "100MiB"\n'
EDGE = '[hub]\nmax_behind = "20s"\n'


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class World:
    """A channel, an origin, and proxies on both sides."""

    def __init__(self, folder: Path, server: Any, origin: Any, start: Callable[..., Any]) -> None:
        self.folder, self.server, self.origin, self._start = folder, server, origin, start
        self.version = 1.0
        (folder / "key").write_text("0123456789abcdef" * 2)
        (folder / "hub.toml").write_text(HUB)
        (folder / "edge.toml").write_text(EDGE)
        origin.now = lambda: self.version
        self._common = ("--channel-key", str(folder / "key"))

    def hub(self) -> Any:
        config = ("--config", str(self.folder / "hub.toml"), "--channel", self.server.url)
        return self._start(*config, *self._common, state=self.folder / "hub", kind="hub")

    def edge(self, *options: str, name: str = "edge") -> Any:
        config = ("--config", str(self.folder / "edge.toml"), "--hub", self.server.url)
        options = options or ("--subscribe", "127.0.0.1")
        return self._start(*config, *self._common, *options, state=self.folder / name)

    def update(self, hub: Any, path: str = "/page") -> None:
        """The origin has a new version, and a client of the hub makes it look."""
        self.version += 1.0
        assert hub.get(self.origin.url + path, {"Cache-Control": "no-cache"}).status == 200

    def has(self, edge: Any, version: float, path: str = "/page", *, stale: bool = False) -> bool:
        """Whether the edge answers with a version, without a contact; with `stale`, also if it takes it for stale."""
        before = len(self.origin.contacts)
        asked = {"Cache-Control": "only-if-cached, max-stale" if stale else "only-if-cached"}
        return f"version {version:.0f}\n" in edge.get(self.origin.url + path, asked).body.decode() and (
            len(self.origin.contacts) == before
        )


def wait_for_words(edge: Any, words: str) -> None:
    """Wait until an edge has logged these words, which may be while it starts."""
    if words not in edge.greeting:
        edge.wait_for_log(words)


def refused(edge: Any, reason: str) -> float:
    """How many messages the edge has refused for a reason."""
    try:
        return float(edge.metric(f'bestbefore_edge_refused_total{{reason="{reason}"}}'))
    except AssertionError:  # none yet
        return 0.0


@pytest.fixture
def world(tmp_path: Path, valkey: Any, start_origin: Callable[..., Any], start_proxy: Callable[..., Any]) -> World:
    paths = ("/page", "/other", "/private", "/secret?token=1")
    origin = start_origin({path: [float(n) for n in range(1, 100)] for path in paths})
    return World(tmp_path, valkey, origin, start_proxy)


def test_updates_reach_edges_without_a_contact_over_restarts_of_both(world: World) -> None:
    hub, edge = world.hub(), world.edge()
    assert hub.get(world.origin.url + "/page").status == 200
    assert hub.get(world.origin.url + "/private", {"Cookie": "a=b"}).status == 200
    wait_for(lambda: world.has(edge, 1))
    world.update(hub)
    wait_for(lambda: world.has(edge, 2))
    assert edge.get(world.origin.url + "/page").is_hit
    assert hub.stop() == 0
    hub = world.hub()
    edge.stop(signal.SIGKILL)
    world.update(hub)
    edge = world.edge()
    wait_for(lambda: world.has(edge, 3))
    assert edge.metric("bestbefore_edge_gaps_total") == 0.0
    with world.server.client as client:
        sent = b"".join(fields[b"m"] for _, fields in client.xrange(STREAM))
    assert b"/page version 3" in sent
    assert b"/private" not in sent


def test_what_is_lost_replayed_or_forged_is_noticed(world: World) -> None:
    hub, edge = world.hub(), world.edge()
    assert hub.get(world.origin.url + "/page").status == 200
    wait_for(lambda: world.has(edge, 1))
    edge.stop(signal.SIGKILL)
    with world.server.client as client:
        first = client.xrange(STREAM, count=1)[0][1]
        before = client.xinfo_stream(STREAM)["last-generated-id"]
        wait_for(lambda: client.xinfo_stream(STREAM)["last-generated-id"] != before)
        client.xtrim(STREAM, maxlen=0)  # as if the edge had been away for too long
        edge = world.edge()
        wait_for_words(edge, "were lost before they were read")
        world.update(hub)
        wait_for(lambda: world.has(edge, 2))
        client.xadd(STREAM, first)
        client.xadd(STREAM, {**first, b"m": first[b"m"][:-1]})
        client.xadd(STREAM, {**first, b"s": b"\0" * 32})
        client.xadd(STREAM, {"other": "field"})
    wait_for(lambda: refused(edge, "signature") == 3.0)
    assert refused(edge, "replayed") == 1.0
    assert edge.metric("bestbefore_edge_gaps_total") == 1.0
    world.update(hub)
    wait_for(lambda: world.has(edge, 3))


def test_a_slow_edge_reads_on_where_it_was_and_notices_what_was_trimmed_meanwhile(world: World) -> None:
    hub, slow = world.hub(), world.edge()
    assert hub.get(world.origin.url + "/page").status == 200
    wait_for(lambda: world.has(slow, 1))
    slow.process.send_signal(signal.SIGSTOP)
    for _ in range(3):
        world.update(hub)
    slow.process.send_signal(signal.SIGCONT)
    wait_for(lambda: world.has(slow, 4))
    assert slow.metric("bestbefore_edge_gaps_total") == 0.0
    slow.process.send_signal(signal.SIGSTOP)
    with world.server.client as client:
        last = client.xinfo_stream(STREAM)["last-generated-id"]
        wait_for(lambda: client.xinfo_stream(STREAM)["last-generated-id"] != last)  # its pending read has an answer
        world.update(hub)
        wait_for(lambda: any(b"version 5" in one[b"m"] for _, one in client.xrange(STREAM, f"({last.decode()}")))
        client.xtrim(STREAM, maxlen=0)
    slow.process.send_signal(signal.SIGCONT)
    slow.wait_for_log("were lost before they were read")
    wait_for(lambda: world.has(slow, 5))
    assert slow.metric("bestbefore_edge_gaps_total") == 1.0


def test_a_late_downloader_gets_everything_and_leaves_and_a_duplicate_waits(world: World) -> None:
    hub, edge = world.hub(), world.edge("--subscribe", "127.0.0.1/page", "--subscribe", "nothing.example")
    for path in ("/page", "/other", "/private"):
        assert hub.get(world.origin.url + path, {"Cookie": "a=b"} if path == "/private" else {}).status == 200
    wait_for(lambda: world.has(edge, 1))
    wait_for_words(edge, "the hub has no object that nothing.example matches")
    late = world.edge("--download", "*", name="late")
    wait_for_words(late, "everything that was asked of the hub has arrived: 2 objects")
    assert world.has(late, 1, stale=True)
    assert world.has(late, 1, "/other", stale=True)
    assert not world.has(edge, 1, "/other", stale=True)
    with world.server.client as client:
        wait_for(lambda: len(client.keys("bb1:channel:{all}:lease:*")) == 1)
    (world.folder / "copied").mkdir()
    for name in ("proxy-id", "salt"):
        shutil.copy(world.folder / "edge" / name, world.folder / "copied" / name)
    copied = world.edge("--subscribe", "127.0.0.1/page", name="copied")
    wait_for_words(copied, "another process takes part in the channel")
    edge.stop()
    wait_for(lambda: world.has(copied, 1))


def test_when_the_channel_is_silent_the_edge_asks_origins_by_its_own_policy(world: World) -> None:
    never = '[default]\npolicy = "ttl"\nmin_ttl = "0s"\nmax_ttl = "0s"\n'
    (world.folder / "edge.toml").write_text(f'[hub]\nmax_behind = "1s"\n{never}')
    hub, edge = world.hub(), world.edge()
    assert hub.get(world.origin.url + "/page").status == 200
    wait_for(lambda: world.has(edge, 1))
    wait_for(lambda: "detail=hub" in edge.get(world.origin.url + "/page").cache_status)
    hub.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: not edge.get(world.origin.url + "/page").is_hit)
    hub.process.send_signal(signal.SIGCONT)
    wait_for(lambda: "detail=hub" in edge.get(world.origin.url + "/page").cache_status)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("hub",), "a hub needs a channel"),
        (("hub", "--channel", "redis://127.0.0.1:1"), "a hub needs the key of its channel: --channel-key FILE"),
        (("hub", "--channel", "http://127.0.0.1"), "expected the URL of a Redis server"),
        (("hub", "--scheduler", "fifo"), "expected one of circ, pop, rq"),
        (("hub", "--bandwidth", "0"), "expected a size from"),
        (("proxy", "--subscribe", "example.org"), "need channel too"),
        (("proxy", "--subscribe", "http://example.org/"), "has a scheme: expected HOST or HOST/PATH"),
        (("proxy", "--hub", "redis://h", "--channel-key", "none", "--subscribe", "*"), "openssl rand -hex 32"),
    ],
)
def test_wrong_options_are_named(preloaded: Any, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    status, output = preloaded.run(*options, "--state", tmp_path / "state", "--listen", "127.0.0.1:0")
    assert status == 2
    assert message in output
    assert "Traceback" not in output


@pytest.mark.slow
def test_all_workers_of_an_edge_take_the_same_copies_for_current(world: World) -> None:
    hub, edge = world.hub(), world.edge("--subscribe", "127.0.0.1", "--workers", "2")
    assert hub.get(world.origin.url + "/page").status == 200
    connections = [HTTPConnection("127.0.0.1", edge.port, timeout=PATIENCE_S) for _ in range(16)]

    def answers() -> set[tuple[bytes, bool]]:
        """The contents that both workers answer with, and whether as current copies."""
        found = set()
        for one in connections:
            one.request("GET", world.origin.url + "/page", headers={"Cache-Control": "only-if-cached"})
            answer = one.getresponse()
            found.add((answer.read(), "; hit" in (answer.headers["Cache-Status"] or "")))
        return found

    for version in (1, 2, 3):
        expected = {(f"/page version {version}\n".encode(), True)}
        wait_for(lambda expected=expected: answers() == expected)
        for _ in range(5):
            time.sleep(0.1)  # a heartbeat
            assert answers() == expected
        world.update(hub)
    for one in connections:
        one.close()
