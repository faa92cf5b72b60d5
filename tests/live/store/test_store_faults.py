"""What a peer or a damaged store may do to what is written: it costs that one thing, and is told."""

import itertools
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.live

Start = Callable[..., Any]
PATIENCE_S = 60.0


def health(proxy: Any) -> dict[str, Any]:
    """What /healthz tells."""
    where = re.search(r"metrics +(http://\S+?)/metrics", proxy.greeting)
    assert where is not None, proxy.greeting
    with urlopen(f"{where[1]}/healthz", timeout=PATIENCE_S) as answer:
        return dict(json.load(answer))


def until(condition: Callable[[], bool]) -> None:
    """Wait for what the proxy does by itself."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


REASONS = [b"Non trouv\xe9", "Non trouv\u00e9 \u20ac".encode(), b"\x1b[31m\xff\x7f"]


def test_answers_with_a_reason_in_latin_1_are_written_as_all_others_are(
    start_proxy: Start, start_origin: Start, start_raw_origin: Start
) -> None:
    odd = [
        start_raw_origin(
            b"HTTP/1.1 404 " + reason
            + b"\r\nCache-Control: max-age=600\r\nX-A: caf\xe9\r\nContent-Length: 4\r\n\r\ngone"
        )
        for reason in REASONS
    ]
    origin = start_origin({f"/{i}": [] for i in range(20)})
    origin.extra = {"Cache-Control": "max-age=600"}
    proxy = start_proxy("--quiet")
    for i, url in enumerate(odd):  # before others, and among them
        assert proxy.get(f"{url}/x").status == 404
        assert proxy.get(f"{origin.url}/{i}").status == 200
    for i in range(len(odd), 20):
        assert proxy.get(f"{origin.url}/{i}").status == 200
    until(lambda: proxy.metric("bestbefore_pending_copies") == 0)
    until(lambda: proxy.metric("bestbefore_pending_observations") == 0)
    assert (health(proxy)["status"], health(proxy)["store"]) == ("ok", "ok")
    assert proxy.stop() == 0
    assert "Traceback" not in proxy.output()
    again = start_proxy("--quiet", state=proxy.state)
    contacts = len(origin.contacts)
    assert all(again.get(f"{origin.url}/{i}").is_hit for i in range(20))
    assert len(origin.contacts) == contacts
    assert [again.get(f"{url}/x").body for url in odd] == [b"gone"] * len(odd)


@pytest.mark.slow
def test_health_shows_when_pending_entries_cannot_be_written(
    start_proxy: Start, start_origin: Start, start_valkey: Start
) -> None:
    redis = start_valkey()
    origin = start_origin({"/a": []})
    proxy = start_proxy("--quiet", "--store", redis.url)
    well = {"status": "ok", "store": "ok", "write_lag_s": 0, "pending": 0, "write_errors": 0, "connections": "ok"}
    assert health(proxy) == well
    with redis.client as client:
        client.execute_command("ACL", "SETUSER", "default", "-@write")
        assert proxy.get(f"{origin.url}/a").status == 200
        until(lambda: health(proxy)["status"] == "degraded")
        assert health(proxy)["store"] == "failing"
        assert health(proxy)["pending"] > 0
        assert proxy.metric("bestbefore_store_write_lag_seconds") > 5
        client.execute_command("ACL", "SETUSER", "default", "+@all")
    until(lambda: health(proxy)["status"] == "ok")
    assert proxy.metric("bestbefore_store_write_lag_seconds") == 0


def test_a_purge_holds_in_a_proxy_whose_clock_is_an_hour_behind(
    start_proxy: Start, start_origin: Start, start_valkey: Start, tmp_path: Path
) -> None:
    redis, origin = start_valkey(), start_origin({})
    origin.serial, origin.extra = itertools.count(1), {"Cache-Control": "max-age=86400"}
    now_s = time.time()
    right, behind = (
        start_proxy(
            "--quiet", "--store", redis.url, state=tmp_path / name, env={"BESTBEFORE_CLOCK": f"{now_s + skew_s},1"}
        )
        for name, skew_s in (("right", 0), ("behind", -3600))
    )
    stored = {"Cache-Control": "only-if-cached"}
    for storing, purging in ((behind, right), (right, behind), (right, right), (behind, behind)):
        page = f"{origin.url}/{storing.port}/{purging.port}"
        first = storing.get(page).body
        assert (storing.get(page).is_hit, storing.get(page).body) == (True, first)
        until(lambda storing=storing: storing.metric("bestbefore_pending_copies") == 0)
        # The one behind may ask anew: to it, what the other has stored is from the future.
        old = {proxy.get(page).body for proxy in (storing, right, behind)}
        for proxy in (right, behind):
            until(lambda proxy=proxy: proxy.metric("bestbefore_pending_copies") == 0)
        assert purging.get(page, method="PURGE").status == 200
        until(lambda page=page, old=old: all(one.get(page, stored).body not in old for one in (right, behind)))
        for proxy in (right, behind):
            new = proxy.get(page)
            assert new.body not in old
            assert (proxy.get(page).is_hit, proxy.get(page).body) == (True, new.body)
    assert right.stop() == behind.stop() == 0
