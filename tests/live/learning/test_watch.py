"""What the owner watches is fetched though nobody asks, by a real proxy in real time."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
PAGES = ("/page", "/feed", "/later")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def opml(*urls: str) -> str:
    return "<opml><body>" + "".join(f'<outline xmlUrl="{url}"/>' for url in urls) + "</body></opml>"


def test_the_first_client_has_a_hit_on_what_is_watched(
    start_proxy: Callable[..., Any], start_origin: Callable[..., Any], bestbefore: Callable[..., str], tmp_path: Path
) -> None:
    origin = start_origin({path: [time.time() - 86_400.0] for path in PAGES})
    feeds, config = tmp_path / "feeds.opml", tmp_path / "proxy.toml"
    feeds.write_text(opml(f"{origin.url}/feed", f"{origin.url}/gone"))
    config.write_text(
        "[prefetch]\nenabled = true\nrobots = false\nper_host_interval = 0\n"
        f'watch = ["{origin.url}/page"]\nopml = "feeds.opml"\n'
    )
    proxy = start_proxy("--config", str(config))
    wait_for(lambda: len(origin.contacts) == 3)
    feeds.write_text(opml(f"{origin.url}/feed", f"{origin.url}/gone", f"{origin.url}/later"))
    wait_for(lambda: len(origin.contacts) == 4)
    wait_for(lambda: proxy.metric('bestbefore_prefetch_fetches_total{outcome="first"}') == 3.0)
    assert [proxy.get(origin.url + path).is_hit for path in PAGES] == [True, True, True]
    assert len(origin.contacts) == 4, "each once, and nothing for the clients"
    proxy.stop()  # which writes all that it knows
    options = ("--config", config, "--state", proxy.state)
    shown = json.loads(bestbefore("show", f"{origin.url}/gone", "--json", *options))
    what, at_s, failures, again_s = shown["trouble"]
    assert (what, failures, again_s - at_s) == ("status 404", 1, 300.0)
    assert shown["prefetch"]["due_s"] == pytest.approx(again_s, abs=1.0)
    (troubled,) = json.loads(bestbefore("plan", "--live", "--json", *options))["troubled"]
    assert (troubled["url"], troubled["what"]) == (f"{origin.url}/gone", "status 404")
