"""The configuration file changes while the proxy runs: what takes effect, what is refused, and that it serves on."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
CHANGED = "the configuration has changed"
KEPT = "the configuration before this change stays in force"

Start = Callable[..., Any]
UPDATES = {"/page": [1_000_000_000.0], "/other": [1_100_000_000.0]}


def replace(config: Path, text: str) -> None:
    """As docs/configuration.md advises: in one step."""
    new = config.with_suffix(".new")
    new.write_text(text)
    new.replace(config)


def ttl_s(got: Any) -> float:
    """What Cache-Status tells of the time until the expiry."""
    (parameter,) = [part for part in got.cache_status.split("; ") if part.startswith("ttl=")]
    return float(parameter.removeprefix("ttl="))


def test_a_changed_rule_gives_an_existing_copy_another_expiry_at_its_next_use(
    start_proxy: Start, start_origin: Start, tmp_path: Path
) -> None:
    origin, config = start_origin(UPDATES), tmp_path / "proxy.toml"
    config.write_text('[default]\npolicy = "ttl"\n')
    proxy = start_proxy("--config", str(config))
    url = origin.url + "/page"
    assert [proxy.get(url).is_hit for _ in range(2)] == [False, True]
    assert 86_000 < ttl_s(proxy.get(url)) <= 86_400, "a tenth of many years, clipped to max_ttl"

    replace(config, '[default]\npolicy = "ttl"\nalpha = 0\n')
    proxy.wait_for_log(CHANGED)
    asked_at = time.monotonic()
    assert "fwd-status=304" in proxy.get(url).cache_status
    assert not proxy.get(url).is_hit
    validated_at = time.monotonic()
    assert len(origin.contacts) == 3

    # The expiry counts from the last validation, and not from the change.
    replace(config, '[default]\nalpha = 0\n[[domain]]\nmatch = "127.0.0.1/page"\npolicy = "ttl"\nmax_ttl = "1h"\n')
    proxy.wait_for_log(CHANGED)
    got, now = proxy.get(url), time.monotonic()
    assert got.is_hit
    assert 3600 - (now - asked_at) - 2 <= ttl_s(got) <= 3600 - (now - validated_at) + 2, "to the second of its Date"
    assert len(origin.contacts) == 3


def test_a_file_that_cannot_be_used_is_refused_once_and_the_old_one_stays(
    start_proxy: Start, start_origin: Start, tmp_path: Path
) -> None:
    origin, config = start_origin(UPDATES), tmp_path / "proxy.toml"
    good = '[default]\npolicy = "ttl"\n'
    config.write_text(good)
    proxy = start_proxy("--config", str(config))
    url = origin.url + "/page"
    assert not proxy.get(url).is_hit

    changes: list[tuple[Callable[[], Any], str]] = [
        (lambda: replace(config, good + "thetta = 1\n"), "did you mean theta?"),
        (lambda: replace(config, good + '[[domain]]\nmatch = "exa'), f"{config}:4: not valid TOML"),
        (config.unlink, f"{config}: cannot be read: No such file or directory"),
    ]
    for change, words in changes:
        change()
        assert str(config) in proxy.wait_for_log(words)
        proxy.wait_for_log(KEPT)
        assert proxy.get(url).is_hit, "by the rule of the file before"
    assert proxy.metric("bestbefore_config_reload_failures_total") == len(changes)

    replace(config, good + '[proxy]\nkeep = "1d"\noffline = true\n')
    assert proxy.wait_for_log("need a restart:").rstrip().endswith("need a restart: keep")
    assert proxy.get(origin.url + "/other").status == 504, "it is offline now"
    assert proxy.get(url).is_hit
    assert len(origin.contacts) == 1

    assert proxy.stop() == 0
    assert proxy.output().count(KEPT) == len(changes)
    assert proxy.output().count(CHANGED) == 1
    assert "Traceback" not in proxy.output()


def test_a_host_newly_passed_through_loses_its_copies_and_histories(
    start_proxy: Start, start_origin: Start, tmp_path: Path, wait_until_known: Start
) -> None:
    origin, config = start_origin(UPDATES), tmp_path / "proxy.toml"
    config.write_text('[default]\npolicy = "ttl"\n')
    proxy = start_proxy("--config", str(config))
    dropped = origin.url + "/page"
    kept = dropped.replace("127.0.0.1", "localhost") + "?from=http://127.0.0.1/"
    origin.updates["/page?from=http://127.0.0.1/"] = UPDATES["/page"]
    for url in (dropped, kept):
        assert [proxy.get(url).is_hit for _ in range(2)] == [False, True]
    wait_until_known(proxy, dropped, known=True)

    replace(config, '[default]\npolicy = "ttl"\n[proxy]\npassthrough = ["127.0.0.1"]\n')
    proxy.wait_for_log(CHANGED)
    wait_until_known(proxy, dropped, known=False)
    wait_until_known(proxy, kept, known=True)
    assert proxy.get(kept).is_hit
    before = len(origin.contacts)
    assert [proxy.get(dropped).is_hit for _ in range(2)] == [False, False]
    assert len(origin.contacts) == before + 2
    wait_until_known(proxy, dropped, known=False)

    replace(config, '[default]\npolicy = "ttl"\n')
    proxy.wait_for_log(CHANGED)
    assert "fwd=uri-miss" in proxy.get(dropped).cache_status, "what it had before is gone"


def test_a_host_that_comes_under_passthrough_while_no_proxy_runs_is_forgotten_at_the_start(
    start_proxy: Start, start_origin: Start, tmp_path: Path, wait_until_known: Start
) -> None:
    origin, config, state = start_origin(UPDATES), tmp_path / "proxy.toml", tmp_path / "state"
    config.write_text("")
    proxy = start_proxy("--config", str(config), state=state)
    url = origin.url + "/page"
    proxy.get(url)
    wait_until_known(proxy, url, known=True)
    assert proxy.stop() == 0

    config.write_text('[proxy]\npassthrough = ["127.0.0.1"]\n')
    proxy = start_proxy("--config", str(config), state=state)
    proxy.wait_for_log("127.0.0.1 is under passthrough: forgot 1 object")
    wait_until_known(proxy, url, known=False)


@pytest.fixture
def wait_until_known(preloaded: Any) -> Start:
    """Waits until `bestbefore show` knows of an object, or no longer does."""
    return partial(_wait_until_known, preloaded)


def _wait_until_known(preloaded: Any, proxy: Any, url: str, *, known: bool) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        status, shown = preloaded.run("show", url, "--state", proxy.state)
        assert status == 0 or "nothing is known of it" in shown
        if (status == 0) == known:
            return
        assert time.monotonic() < end, shown
