"""A real proxy refreshes what its clients will ask for, in compressed time."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

START_S = 1_706_227_200.0
FACTOR = 1200
HOUR_S = 3600.0
LAG_S = 60.0
PATIENCE_S = 60.0
SLOW_FACTOR = 40
TOLERANCE_S = 140.0
"""More than three seconds of real time, at the slow factor."""
CONFIG = """
[default]
min_ttl = "15m"
[prefetch]
enabled = true
budget = "2000/day"
per_host_interval = "20s"
user_agent = "prefetching-test"
"""
WANTED = ("/page/0", "/page/1")
UNWANTED = ("/once", "/page/2?token=x", "/logout", "/private")
UPDATES = {path: [START_S + n * HOUR_S for n in range(-10, 400)] for path in (*WANTED, *UNWANTED)}


def synchronise(origin: Any, proxy: Any, factor: float = FACTOR) -> None:
    """Let the origin live in the proxy's policy time, a little behind: clocks differ by milliseconds."""
    reached_s, at = proxy.policy_time_s() - LAG_S, time.monotonic()
    origin.now = lambda: reached_s + factor * (time.monotonic() - at)


def prefetches(origin: Any) -> list[Any]:
    return [c for c in origin.contacts if c.fields.get("user-agent") == "prefetching-test" and c.path != "/robots.txt"]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "proxy.toml"
    path.write_text(CONFIG)
    return path


def test_once_it_is_enabled_clients_hit_what_was_refreshed_before_they_asked(
    start_proxy: Callable[..., Any], start_origin: Callable[..., Any], config: Path
) -> None:
    config.write_text(CONFIG.replace("enabled = true", "enabled = false"))
    origin = start_origin(UPDATES)
    proxy = start_proxy("--config", str(config), env={"BESTBEFORE_CLOCK": f"{START_S},{FACTOR}"})
    synchronise(origin, proxy)
    assert proxy.metric("bestbefore_prefetch_budget_per_day") == 0.0
    config.write_text(CONFIG)
    proxy.wait_for_log("the configuration has changed")
    for _ in range(3):
        for path in (*WANTED, "/page/2?token=x", "/logout"):
            assert proxy.get(origin.url + path).status == 200
        assert proxy.get(origin.url + "/private", {"Cookie": "a=1"}).status == 200
    assert proxy.get(origin.url + "/once").status == 200
    wait_for(lambda: len(prefetches(origin)) > 6)
    fetched = len(prefetches(origin))
    told: Counter[str] = Counter()
    begun_s = origin.now()
    while origin.now() < begun_s + 2.4 * HOUR_S or told.total() < 40:
        for path in WANTED:
            before_s = origin.now()
            got = proxy.get(origin.url + path)
            version = int(got.body.split()[-1])
            current = sum(t <= before_s - 15 * 60.0 for t in UPDATES[path])
            told["hits" if got.is_hit else "contacts"] += 1
            told["current" if version >= current else "outdated"] += 1
        time.sleep(0.02)
    # By their lifetimes alone; a machine that stands still has the next requests answered before it fetches.
    unfetched = min(told.total() / 2, len(WANTED) * (origin.now() - begun_s) / (15 * 60.0))
    assert told["contacts"] < 0.5 * unfetched
    assert told["outdated"] <= max(2, 0.05 * told.total() / 2), "what is a quarter of an hour old was fetched"
    assert {contact.path for contact in prefetches(origin)} == set(WANTED)
    assert {contact.status for contact in prefetches(origin)} <= {200, 304}
    assert len(prefetches(origin)) > fetched
    assert proxy.metric("bestbefore_prefetch_budget_per_day") == 2000.0
    assert proxy.metric("bestbefore_prefetch_objects") == 2.0
    assert proxy.metric("bestbefore_prefetch_delay_seconds_count") >= 1.0
    proxy.stop()
    assert "(background)" in proxy.output()


def test_it_goes_on_from_memory_while_the_store_is_away(
    start_proxy: Callable[..., Any], start_origin: Callable[..., Any], config: Path, valkey: Any
) -> None:
    with valkey.client as client:
        client.flushall()
    origin = start_origin(UPDATES)
    proxy = start_proxy(
        "--config", str(config), "--store", valkey.url, env={"BESTBEFORE_CLOCK": f"{START_S},{FACTOR}"}
    )
    synchronise(origin, proxy)
    for _ in range(2):
        for path in WANTED:
            proxy.get(origin.url + path)
    wait_for(lambda: len(prefetches(origin)) > 3)
    valkey.kill()
    try:
        proxy.wait_for_log("the store is down")
        fetched = len(prefetches(origin))
        wait_for(lambda: len(prefetches(origin)) > fetched + 4)
    finally:
        valkey.start()
    proxy.wait_for_log("the store is up again")


def told(*command: str, at_s: float) -> Any:
    """What a command says as JSON, at a moment of policy time."""
    environment = {**os.environ, "BESTBEFORE_CLOCK": f"{at_s},{SLOW_FACTOR}"}
    bestbefore = Path(sys.executable).parent / "bestbefore"
    done = subprocess.run([bestbefore, *command, "--json"], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_fetches_come_when_the_schedule_that_is_shown_has_them(
    start_proxy: Callable[..., Any], start_origin: Callable[..., Any], config: Path
) -> None:
    """Each object every five minutes, which are seven and a half seconds."""
    config.write_text(CONFIG + 'objective = "uniform"\ntiming = "even"\n')
    origin = start_origin(UPDATES)
    proxy = start_proxy("--config", str(config), env={"BESTBEFORE_CLOCK": f"{START_S},{SLOW_FACTOR}"})
    synchronise(origin, proxy, SLOW_FACTOR)
    for _ in range(2):
        for path in WANTED:
            proxy.get(origin.url + path)
    wait_for(lambda: proxy.metric("bestbefore_prefetch_objects") == 2.0)
    wait_for(lambda: len(prefetches(origin)) > 1)
    shown = told("plan", "--live", "--state", str(proxy.state), at_s=origin.now())
    of_one = told("show", origin.url + WANTED[0], "--state", str(proxy.state), at_s=origin.now())
    assert (shown["objects"], shown["objective"], shown["proxies"], shown["shards"]) == (2, "uniform", 1, 256)
    assert of_one["prefetch"]["reason"].endswith("asked for 2 times in 8 days")
    expected = [fetch for fetch in shown["next"] if fetch["due_s"] > shown["made_s"]]
    assert {fetch["url"] for fetch in expected} <= {origin.url + path for path in WANTED}
    assert expected
    wait_for(lambda: origin.now() > expected[-1]["due_s"] + TOLERANCE_S)
    now_s, at = origin.now(), time.time()
    came = [(origin.url + contact.path, now_s - SLOW_FACTOR * (at - contact.at_s)) for contact in prefetches(origin)]
    for fetch in expected:
        assert any(url == fetch["url"] and abs(s - fetch["due_s"]) < TOLERANCE_S for url, s in came), (fetch, came)
