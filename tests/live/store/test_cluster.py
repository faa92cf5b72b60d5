"""A proxy on a cluster of three primaries and replicas, whose nodes fail or move slots while clients ask for much."""

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis.crc import key_slot

pytestmark = [pytest.mark.live, pytest.mark.slow]

Start = Callable[..., Any]
PATHS = 4000
KEPT = 100
"""How many of the first objects are looked for afterwards."""
MOVED = 200
"""How many slots are moved at least."""


def _lose(nodes: list[Any]) -> None:
    nodes[1].kill()


def _freeze(nodes: list[Any]) -> None:
    nodes[1].process.send_signal(signal.SIGSTOP)
    time.sleep(30.0)
    nodes[1].process.send_signal(signal.SIGCONT)


def _fill(nodes: list[Any]) -> None:
    with nodes[1].client as client:
        client.config_set("maxmemory", "1")
        time.sleep(4.0)
        client.config_set("maxmemory", "0")


def _move_slots(nodes: list[Any]) -> None:
    """Move all slots with keys of the first node to the second, key by key, and back, and again."""
    end, moved = time.monotonic() + 8.0, 0
    with nodes[0].client as one, nodes[1].client as other:
        while moved < MOVED or time.monotonic() < end:
            for slot in {key_slot(key) for key in one.scan_iter(match="bb1:*", count=500)}:
                _move_slot(slot, one, other)
                moved += 1
            one, other = other, one
    print(f"{moved} slots moved")


def _move_slot(slot: int, source: Any, target: Any) -> None:
    source_id, target_id = (client.execute_command("CLUSTER", "MYID") for client in (source, target))
    target.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
    source.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
    port = target.connection_pool.connection_kwargs["port"]
    while keys := source.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100):
        for key in keys:
            source.execute_command("MIGRATE", "127.0.0.1", port, key, 0, 1000)
    for client in (target, source):
        client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", target_id)


@pytest.mark.parametrize("event", [_lose, _freeze, _fill, _move_slots])
def test_no_request_fails_that_the_origin_can_answer(
    start_proxy: Start, start_origin: Start, replicated_cluster: list[Any], event: Callable[[list[Any]], None]
) -> None:
    origin = start_origin({f"/{i}": [] for i in range(PATHS)})
    origin.extra = {"Cache-Control": "max-age=600"}
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in replicated_cluster[:2])
    proxy = start_proxy("--quiet", "--store", f"redis+cluster://{seeds}")
    end = time.monotonic() + 10.0
    is_over = False
    slowest_s = 0.0

    def ask(client: int) -> list[int]:
        nonlocal slowest_s
        statuses, i = [], client
        while not is_over or time.monotonic() < end or i < KEPT:
            is_new = len(statuses) % 3 > 0  # each third request is for an earlier object
            start_s = time.monotonic()
            statuses.append(proxy.get(f"{origin.url}/{(i if is_new else max(i - 40, client)) % PATHS}").status)
            slowest_s = max(slowest_s, time.monotonic() - start_s)
            i += 4 * is_new
            time.sleep(0.02 if i < 4 * KEPT else 0.1)
        return statuses

    with ThreadPoolExecutor(5) as clients:
        asked = [clients.submit(ask, i) for i in range(4)]
        time.sleep(1.0)
        try:
            clients.submit(event, replicated_cluster).result()
        finally:
            is_over, end = True, max(end, time.monotonic() + 3.0)
        statuses = [status for one in asked for status in one.result()]
    assert set(statuses) == {200}
    assert len(statuses) > 100
    assert slowest_s < 10.0
    proxy.has_written()  # once the replica was promoted
    contacts = len(origin.contacts)
    again = start_proxy("--quiet", "--store", f"redis+cluster://{seeds}", state=proxy.state.with_name("other"))
    for i in range(KEPT):
        assert again.get(f"{origin.url}/{i}").status == 200
    lost = len(origin.contacts) - contacts
    output = proxy.output()
    print(f"{event.__name__}: {len(statuses)} requests, slowest {slowest_s:.1f} s, {lost} of {KEPT} copies lost")
    print(output)
    assert "Traceback" not in output
    if event is _move_slots:
        assert "down" not in output
        assert lost == 0
    assert lost < KEPT / 2


LONGEST_S = 6.0
"""A request waits 2 s for a node, and as long for a proxy whose contact has ended; the rest is the tests' machine."""


def test_no_request_waits_long_while_a_part_has_no_replica(
    start_proxy: Start, start_origin: Start, replicated_cluster: list[Any], tmp_path: Path
) -> None:
    """Two proxies need the same objects, and the replica of the frozen node, once promoted, has none itself.

    So what is written there does not count as written, for as long as the node is frozen.
    """
    origin = start_origin({f"/{i}": [] for i in range(PATHS)})
    origin.extra = {"Cache-Control": "max-age=600"}
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in replicated_cluster[:2])
    store = ("--quiet", "--store", f"redis+cluster://{seeds}?wait=1")
    proxies = [start_proxy(*store, state=tmp_path / name) for name in ("one", "other")]
    is_over = False

    def ask(client: int) -> list[float]:
        took_s, i = list[float](), client // 2
        while not is_over:
            start_s = time.monotonic()
            assert proxies[client % 2].get(f"{origin.url}/{i % PATHS}").status == 200
            took_s.append(time.monotonic() - start_s)
            i += 4
            time.sleep(0.02)
        return took_s

    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(ask, client) for client in range(8)]
        time.sleep(1.0)
        replicated_cluster[1].process.send_signal(signal.SIGSTOP)
        time.sleep(15.0)
        replicated_cluster[1].process.send_signal(signal.SIGCONT)
        is_over = True
        took_s = [each for one in asked for each in one.result()]
    assert max(took_s) < LONGEST_S
    assert any("NOREPLICAS" in proxy.output() for proxy in proxies)
