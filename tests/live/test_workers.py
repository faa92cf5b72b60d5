"""Several processes on one address: they share a store, and one that is killed comes back."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from conftest import PATIENCE_S, Origin, Proxy, StartProxy

pytestmark = pytest.mark.live


def workers_of(proxy: Proxy) -> set[int]:
    """The processes that were forked by the process that the supervisor has for it."""
    return {worker for child in children(proxy.process.pid) for worker in children(child)}


def children(process: int) -> set[int]:
    return {int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_share_the_store_and_one_that_is_killed_comes_back(
    start_proxy: StartProxy, start_origin: Callable[..., Origin], bestbefore: Callable[..., str]
) -> None:
    origin = start_origin({"/a": [0.0]})
    origin.extra = {"Cache-Control": "max-age=3600"}
    proxy = start_proxy("--workers", "2")
    url = f"{origin.url}/a"
    before = workers_of(proxy)
    assert len(before) == 2
    proxy.get(url)
    proxy.has_written()
    connections = [HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S) for _ in range(16)]
    answered = [_hits(one, url) for one in connections]
    assert all(answered), "stored by one, it is a hit at the other"
    assert len(origin.contacts) == 1

    lost, stop = list[bool](), threading.Event()

    def load() -> None:
        while not stop.is_set():
            with suppress(OSError, HTTPException):
                lost.append(True)
                assert proxy.get(url).status == 200
                lost.pop()

    load_thread = threading.Thread(target=load)
    load_thread.start()
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: proxy.metric("bestbefore_worker_restarts_total") == 1)
    wait_until(lambda: proxy.metric("bestbefore_workers") == 2 == len(workers_of(proxy) - {victim}))
    stop.set()
    load_thread.join()
    assert len(lost) <= 1, "it held one at most"
    assert proxy.metric('bestbefore_requests_total{outcome="miss",reason="uri-miss"}') == 1

    assert "purged the copies of 1 object" in bestbefore("purge", "--state", str(proxy.state), url)
    wait_until(lambda: proxy.get(url).status == 200 and len(origin.contacts) > 1)
    for one in connections:
        one.close()
    assert proxy.stop() == 0
    output = proxy.output()
    assert "Traceback" not in output
    assert output.count("summary ") == 1
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in before))


@pytest.mark.slow
def test_a_worker_that_does_nothing_any_more_is_killed_and_replaced(
    start_proxy: StartProxy, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin({"/a": [0.0]})
    proxy = start_proxy("--workers", "2")
    victim, other = sorted(workers_of(proxy))
    os.kill(victim, signal.SIGSTOP)
    began_s = time.monotonic()
    wait_until(lambda: proxy.metric("bestbefore_worker_restarts_total") == 1)
    assert time.monotonic() - began_s > 5, "it may only be busy"
    wait_until(lambda: proxy.metric("bestbefore_workers") == 2)
    assert other in workers_of(proxy)
    assert victim not in workers_of(proxy)
    assert proxy.get(f"{origin.url}/a").status == 200
    assert proxy.stop() == 0
    assert f"worker 1 (process {victim}) does not answer: it is killed" in proxy.output()


def _hits(connection: HTTPConnection, url: str) -> bool:
    """Whether a request on this connection, and so at its worker, is a hit."""
    connection.request("GET", url)
    response = connection.getresponse()
    response.read()
    return "; hit" in response.headers["Cache-Status"]
