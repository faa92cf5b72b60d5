"""What the proxy needs fails while it runs: its store or the origin. It serves on, says so once, and loses nothing."""

import asyncio
import itertools
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.opening import open_store

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc"),
]

Start = Callable[..., Any]
PATIENCE_S = 90.0
AWAY, BACK = "the store is down", "the store is up again"
TRACEBACK = "Traceback"
VALKEY_KILL_S = 6.0
"""What a kill of the embedded server may cost: while the disk is busy, it answers for 2 s before it writes; and for
twice as long a busy machine may stand still."""


async def records(where: str, state: Path, urls: Collection[str]) -> dict[str, Record | None]:
    """What a store has learnt."""
    store = await open_store(where, clock=RealClock(), state=state)
    try:
        return {url: await store.record(url) for url in urls}
    finally:
        await store.close()


def assert_nothing_is_lost(
    origin: Any, where: str, state: Path, *, killed_s: tuple[float, float] = (0.0, 0.0)
) -> None:
    """Every contact that the origin saw is in the store, as a contact and, but for the first, as an update.

    `killed_s`: between which moments an embedded server was killed, which may cost what it had in the last moments.
    """
    contacts = Counter(origin.url + contact.path for contact in origin.contacts)
    safe = Counter(
        origin.url + contact.path
        for contact in origin.contacts
        if not killed_s[0] - VALKEY_KILL_S <= contact.at_s <= killed_s[1]
    )
    assert sum(safe.values()) > 100
    found = asyncio.run(records(where, state, contacts))
    for url, record in found.items():
        known = 0 if record is None else record.contacts
        assert safe[url] <= known <= contacts[url], f"{url}: {known} of {contacts[url]} contacts are known"
        if record is not None:
            assert record.n_updates == record.contacts - 1
            assert record.unchanged == 0


def test_a_killed_embedded_store_is_started_again_and_gets_what_was_learnt_meanwhile(
    start_proxy: Start, start_origin: Start, start_load: Start
) -> None:
    origin = start_origin({})
    origin.serial = itertools.count(1)
    proxy = start_proxy("--quiet")
    load = start_load(origin.url, proxy.port)
    load.goes_on()
    end = time.monotonic() + VALKEY_KILL_S  # what was learnt until now is safe then
    while time.monotonic() < end:
        load.goes_on(10)
    (server,) = proxy.servers()
    before_s = time.time()
    os.kill(server, signal.SIGKILL)
    killed_s = before_s, time.time()
    proxy.wait_for_log(AWAY)
    load.round = 1
    load.goes_on()
    proxy.wait_for_log(BACK)
    load.goes_on()
    load.stop()
    assert (load.refused, load.broken) == ([], 0)
    assert proxy.stop() == 0
    assert TRACEBACK not in proxy.output()
    # Once more where the machine stands still for so long that the store is late.
    assert re.findall(f"{AWAY}|{BACK}", proxy.output()) in ([AWAY, BACK], [AWAY, BACK] * 2)
    assert_nothing_is_lost(origin, "embedded", proxy.state, killed_s=killed_s)


@pytest.mark.slow
def test_a_redis_that_falls_silent_or_dies_and_comes_back_has_lost_nothing(
    start_proxy: Start, start_origin: Start, start_load: Start, start_valkey: Start
) -> None:
    redis = start_valkey("--appendonly", "yes", "--appendfsync", "always")  # so that it keeps what it has answered
    origin = start_origin({})
    origin.serial = itertools.count(1)
    proxy = start_proxy("--quiet", "--store", redis.url)
    load = start_load(origin.url, proxy.port)

    load.goes_on()
    redis.process.send_signal(signal.SIGSTOP)
    proxy.wait_for_log(AWAY)
    assert proxy.metric("bestbefore_store_down") == 1
    load.round = 1  # objects of which the store knows nothing yet
    load.goes_on()
    assert proxy.metric("bestbefore_pending_observations") > 0
    redis.process.send_signal(signal.SIGCONT)
    proxy.wait_for_log(BACK)

    load.round = 2
    load.goes_on()
    redis.kill()
    proxy.wait_for_log(AWAY)
    load.round = 3
    load.goes_on()
    redis.start()
    proxy.wait_for_log(BACK)
    load.goes_on()
    load.stop()
    assert (load.refused, load.broken) == ([], 0)
    end = time.monotonic() + PATIENCE_S
    while proxy.metric("bestbefore_store_down"):  # on a busy machine it may be late once more
        assert time.monotonic() < end
        time.sleep(0.1)
    assert proxy.metric("bestbefore_dropped_observations_total") == 0

    assert proxy.stop() == 0
    assert TRACEBACK not in proxy.output()
    # On a busy machine the store may be late once more, also before the greeting.
    said = proxy.greeting + proxy.output()
    assert said.count(AWAY) == said.count(BACK) >= 2, said
    assert_nothing_is_lost(origin, redis.url, proxy.state)


def test_a_redis_that_is_away_at_the_start_gets_what_was_learnt_before_it_came(
    start_proxy: Start, start_origin: Start, start_load: Start, start_valkey: Start
) -> None:
    redis = start_valkey("--appendonly", "yes")
    redis.kill()
    origin = start_origin({})
    origin.serial = itertools.count(1)
    proxy = start_proxy("--quiet", "--store", redis.url)
    assert AWAY in proxy.greeting
    load = start_load(origin.url, proxy.port)
    load.goes_on()
    redis.start()
    proxy.wait_for_log(BACK)
    load.goes_on()
    load.stop()
    assert (load.refused, load.broken) == ([], 0)
    assert proxy.stop() == 0
    assert_nothing_is_lost(origin, redis.url, proxy.state)


def test_a_full_store_is_said_once_and_served_around(start_proxy: Start, start_origin: Start, tmp_path: Path) -> None:
    origin = start_origin({})
    origin.serial = itertools.count(1)
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\nstore_max = "4MiB"\n')
    proxy = start_proxy("--quiet", "--config", str(config))
    long, served = "x" * 8000, 0
    while not proxy.metric("bestbefore_dropped_copies_total"):
        for _ in range(20):
            served += 1
            # Twice: a history of a single contact gives way to others, as copies do.
            for _ in range(2):
                assert proxy.get(f"{origin.url}/{served}?{long}", {"Cache-Control": "no-cache"}).status == 200
        assert served < 2000, "that is more than the store has room for"
    assert "fwd-status=200" in proxy.get(f"{origin.url}/{served}?{long}", {"Cache-Control": "no-cache"}).cache_status
    assert proxy.stop() == 0
    # Once more where the machine is so busy that for seconds nothing was refused.
    assert 1 <= proxy.output().count("the store is full") <= 2
    assert proxy.output().count("the store refuses to write") <= 1
    assert TRACEBACK not in proxy.output()


ON_A_SMALL_DISK = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=16m none "$0" && exec "$@"')


@pytest.mark.slow
def test_a_full_disk_is_said_once_and_what_was_learnt_meanwhile_is_written_later(
    start_proxy: Start, start_origin: Start, start_load: Start, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    tried = subprocess.run([*ON_A_SMALL_DISK, state, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("needs a disk of its own, and unshare gives none here")
    origin = start_origin({})
    origin.serial = itertools.count(1)
    proxy = start_proxy("--quiet", under=[*ON_A_SMALL_DISK, state])
    # The disk is only in the process's own name space, and stays for as long as anybody has it open.
    disk = os.open(f"/proc/{proxy.process.pid}/root{state}", os.O_DIRECTORY)
    load = start_load(origin.url, proxy.port)
    load.goes_on()
    ballast = os.open("ballast", os.O_CREAT | os.O_WRONLY, dir_fd=disk)
    with suppress(OSError):
        while True:
            os.write(ballast, bytes(4096))
    proxy.wait_for_log("it cannot write to its disk")
    load.round = 1
    load.goes_on()
    assert proxy.metric("bestbefore_pending_observations") > 0
    os.ftruncate(ballast, 0)
    proxy.wait_for_log("the store accepts writes again")
    load.goes_on()
    load.stop()
    assert (load.refused, load.broken) == ([], 0)
    assert proxy.stop() == 0
    assert TRACEBACK not in proxy.output()
    assert proxy.output().count("the store refuses to write") == 1
    assert_nothing_is_lost(origin, "embedded", Path(f"/proc/{os.getpid()}/fd/{disk}"))
    os.close(ballast)
    os.close(disk)


@contextmanager
def in_place_of(origin: Any, treat: Callable[[socket.socket], None]) -> Iterator[None]:
    """Something else on the port of an origin that was stopped: what it does with each connection."""
    server = socket.create_server(("127.0.0.1", int(origin.url.rpartition(":")[2])))
    held: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                held.append(connection)
                treat(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)
        for one in (server, *held):
            one.close()


def reset(connection: socket.socket) -> None:
    """Take the request, and answer with a reset."""
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def reset_in_mid_answer(connection: socket.socket) -> None:
    """The same after a part of the answer."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nETag: \"half\"\r\nContent-Length: 1000\r\n\r\nhalf of it")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_an_origin_that_is_down_or_resets_is_stood_in_for_by_stale_copies(
    start_proxy: Start, start_origin: Start, tmp_path: Path
) -> None:
    origin = start_origin({"/page": [1_000_000_000.0]})
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\nstale_if_down = "1d"\n[default]\npolicy = "ttl"\nalpha = 0\n')
    proxy = start_proxy("--config", str(config))
    page, unknown = origin.url + "/page", origin.url + "/unknown"
    assert "stored" in proxy.get(page).cache_status
    origin.stop()

    def is_stood_in_for() -> bool:
        got = proxy.get(page)
        return (got.status, got.body) == (200, b"/page version 1\n") and "stale-if-down" in got.cache_status

    assert is_stood_in_for()
    refused = proxy.get(unknown)
    assert (refused.status, refused.cache_status) == (502, "bestbefore; detail=origin-unreachable")
    for treat in (reset, reset_in_mid_answer):
        with in_place_of(origin, treat):
            assert is_stood_in_for(), treat
            refused = proxy.get(unknown)
            assert (refused.status, refused.cache_status) == (502, "bestbefore; detail=origin-reset"), treat
    assert len(origin.contacts) == 1
    assert proxy.stop() == 0
    assert TRACEBACK not in proxy.output()
    (record,) = asyncio.run(records("embedded", proxy.state, [page])).values()
    assert record is not None
    assert record.contacts == 1, "a failure teaches nothing"


def test_a_silent_origin_delays_no_request_for_another_object(start_proxy: Start, start_origin: Start) -> None:
    silent, other = start_origin({"/page": [1_000_000_000.0]}), start_origin({"/page": [1_000_000_000.0]})
    proxy = start_proxy()
    silent.extra = {"Cache-Control": "max-age=1000"}
    assert not proxy.get(silent.url + "/page").is_hit
    silent.stop()
    asked = threading.Semaphore(0)
    with in_place_of(silent, lambda connection: asked.release() if connection.recv(65536) else None):
        waiting = [socket.create_connection(("127.0.0.1", proxy.port)) for _ in range(20)]
        for number, client in enumerate(waiting):
            client.sendall(f"GET {silent.url}/{number} HTTP/1.1\r\nHost: {silent.url[7:]}\r\n\r\n".encode())
            assert asked.acquire(timeout=PATIENCE_S), "the origin has the request, and says nothing"
        assert proxy.get(silent.url + "/page").is_hit
        assert proxy.get(other.url + "/page").status == 200
        for client in waiting[:10]:
            client.close()  # it has lost patience
        assert proxy.get(other.url + "/page").status == 200
    for client in waiting[10:]:
        client.settimeout(PATIENCE_S)
        answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 502"), answer
        client.close()
    assert proxy.stop() == 0
    assert TRACEBACK not in proxy.output()
