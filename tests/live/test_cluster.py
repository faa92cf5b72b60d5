"""A proxy on a cluster of three primaries and three replicas, whose nodes fail while clients ask for much."""

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]

Start = Callable[..., Any]
PATHS = 4000
KEPT = 100
"""How many of the first objects are looked for afterwards."""


def _lose(nodes: list[Any]) -> None:
    nodes[1].kill()


def _freeze(nodes: list[Any]) -> None:
    nodes[1].process.send_signal(signal.SIGSTOP)
    time.sleep(6.0)
    nodes[1].process.send_signal(signal.SIGCONT)


def _fill(nodes: list[Any]) -> None:
    with nodes[1].client as client:
        client.config_set("maxmemory", "1")
        time.sleep(4.0)
        client.config_set("maxmemory", "0")


@pytest.mark.parametrize("event", [_lose, _freeze, _fill])
def test_no_request_fails_that_the_origin_can_answer(
    start_proxy: Start, start_origin: Start, replicated_cluster: list[Any], event: Callable[[list[Any]], None]
) -> None:
    origin = start_origin({f"/{i}": [] for i in range(PATHS)})
    origin.extra = {"Cache-Control": "max-age=600"}
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in replicated_cluster[:2])
    proxy = start_proxy("--quiet", "--store", f"redis+cluster://{seeds}")
    end = time.monotonic() + 10.0
    slowest_s = 0.0

    def ask(client: int) -> list[int]:
        nonlocal slowest_s
        statuses, i = [], client
        while time.monotonic() < end:
            is_new = len(statuses) % 3 > 0  # each third request is for an earlier object
            start_s = time.monotonic()
            statuses.append(proxy.get(f"{origin.url}/{(i if is_new else max(i - 40, client)) % PATHS}").status)
            slowest_s = max(slowest_s, time.monotonic() - start_s)
            i += 4 * is_new
            time.sleep(0.02)
        return statuses

    with ThreadPoolExecutor(5) as clients:
        asked = [clients.submit(ask, i) for i in range(4)]
        time.sleep(1.0)
        clients.submit(event, replicated_cluster).result()
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
    assert lost < KEPT / 2
