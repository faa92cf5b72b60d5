"""What is counted of requests at work: by two proxies on one store, it decides at each, and outlives them."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

REQUESTS = 20


def lifetime_s(got: Any) -> int:
    """The remaining lifetime of the copy that this answer has left behind."""
    found = re.search(r"ttl=(\d+)", got.cache_status)
    assert found is not None, got.cache_status
    return int(found[1])


def test_what_is_requested_often_at_any_proxy_is_validated_sooner(
    start_proxy: Callable[..., Any],
    start_origin: Callable[..., Any],
    valkey: Any,
    tmp_path: Path,
    bestbefore: Callable[..., str],
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[default]\npolicy = "renewal"\nprice = 3\n')
    updates_s = [time.time() - 86_400.0]
    origin = start_origin({"/often": updates_s, "/rarely": updates_s})
    often, rarely = (origin.url + path for path in ("/often", "/rarely"))
    options = ("--config", str(config), "--store", valkey.url)

    proxies = [start_proxy(*options, state=tmp_path / str(n)) for n in range(2)]
    for proxy in proxies:
        got = [proxy.get(often) for _ in range(REQUESTS)]
        assert [one.is_hit for one in got[1:]] == [True] * (REQUESTS - 1)
    proxies[0].get(rarely)
    assert proxies[0].stop() == 0

    fetched = [proxies[1].get(url, {"Cache-Control": "no-cache"}) for url in (often, rarely)]
    assert 0 < 2 * lifetime_s(fetched[0]) < lifetime_s(fetched[1])
    assert proxies[1].stop() == 0
    # With a tenth of a request, at the prior rate of six a day: it counts for 24 minutes.
    requests = 2 * REQUESTS + 1
    shown = bestbefore("show", "--config", config, "--store", valkey.url, often)
    found = re.search(r"requested   (\S+) an hour, by the last day", shown)
    assert found is not None, shown
    assert float(found[1]) == pytest.approx((requests + 0.1) / 0.4, rel=0.1)  # seconds pass between the requests
    assert "by the time since the last one" in shown
    assert "if its updates have ended" in shown


def test_a_stale_rate_is_controlled_by_what_all_proxies_have_counted(
    start_proxy: Callable[..., Any],
    start_origin: Callable[..., Any],
    valkey: Any,
    tmp_path: Path,
    bestbefore: Callable[..., str],
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[default]\npolicy = "renewal"\nstale_rate = "5%"\n')
    url = start_origin({"/page": [time.time() - 86_400.0]}).url + "/page"
    proxies = [start_proxy("--config", str(config), "--store", valkey.url, state=tmp_path / str(n)) for n in range(2)]
    statuses = []
    for proxy in proxies:
        got = [proxy.get(url) for _ in range(REQUESTS)]
        statuses += [one.cache_status for one in got]
        assert [one.is_hit for one in got[1:]] == [True] * (REQUESTS - 1)
    # On a fast machine the second proxy asks before the first has stored the copy: then it shares the contact.
    found = sum("fwd=uri-miss" not in status or "collapsed" in status for status in statuses)
    assert "fwd=" in proxies[1].get(url, {"Cache-Control": "no-cache"}).cache_status
    assert [proxy.stop() for proxy in proxies] == [0, 0]

    shown = bestbefore("show", "--config", config, "--store", valkey.url, url)
    estimate = re.search(r"stale rate  5 % of its group is wanted, (\S+) % by estimate", shown)
    assert estimate is not None
    assert float(estimate[1]) < 0.01
    assert f" of {found + 1} requests\n" in shown, (shown, statuses[0], statuses[REQUESTS])
    price = re.search(r"now a stale hit is worth (\S+) validations", shown)
    assert price is not None
    assert 0.3 < float(price[1]) < 1.0
