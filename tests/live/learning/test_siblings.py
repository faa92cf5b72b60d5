"""A real proxy validates a fresh page because another page of its site was found changed, and says so."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live


def test_a_page_found_changed_makes_its_sibling_validated(
    shared_proxy: Any, start_origin: Any, bestbefore: Callable[..., str]
) -> None:
    now_s = float(int(time.time()))
    updates = {path: [now_s - 86_400.0] for path in ("/news/a", "/news/b")}
    origin = start_origin(updates)
    a, b = (origin.url + path for path in updates)
    origin.now = lambda: now_s - 60.0
    for url in (a, b, b):
        got = shared_proxy.get(url)
    assert got.is_hit
    for times in updates.values():
        times.append(now_s - 30.0)
    origin.now = lambda: now_s
    shared_proxy.get(a, {"Cache-Control": "no-cache"})
    got = shared_proxy.get(b)
    assert ("fwd=stale" in got.cache_status, "detail=sibling" in got.cache_status) == (True, True)
    assert got.body == b"/news/b version 2\n"
    assert shared_proxy.get(b).is_hit
    assert f"{b} (because {a} changed)" in shared_proxy.wait_for_log("because")
    assert shared_proxy.metric("bestbefore_sibling_validations_total") == 1.0
    assert shared_proxy.metric("bestbefore_sibling_validations_changed_total") == 1.0
    shared_proxy.has_written()
    assert f"early, because {a} changed" in bestbefore("show", b, "--state", shared_proxy.state)


def test_what_one_proxy_finds_changed_is_validated_by_another_on_its_store(
    start_proxy: Callable[..., Any], start_origin: Any, valkey: Any, tmp_path: Path
) -> None:
    now_s = float(int(time.time()))
    updates = {path: [now_s - 86_400.0] for path in ("/news/a", "/news/b")}
    origin = start_origin(updates)
    a, b = (origin.url + path for path in updates)
    finder, other = (start_proxy("--store", valkey.url, state=tmp_path / str(n)) for n in range(2))
    origin.now = lambda: now_s - 60.0
    for proxy, url in ((finder, a), (other, b), (other, b)):
        got = proxy.get(url)
    assert got.is_hit
    for times in updates.values():
        times.append(now_s - 30.0)
    origin.now = lambda: now_s
    finder.get(a, {"Cache-Control": "no-cache"})
    within_s = time.monotonic() + 60.0
    while (got := other.get(b)).is_hit and time.monotonic() < within_s:
        time.sleep(0.05)
    assert "detail=sibling" in got.cache_status
    assert got.body == b"/news/b version 2\n"
    assert f"{b} (because {a} changed)" in other.wait_for_log("because")
