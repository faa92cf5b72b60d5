"""A comparison of a real state folder; `tests/live/operation/test_dashboard.py` has its page."""

import asyncio
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.dashboard.comparison.comparison import FOLDER, KEPT_S, PolicyComparison
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles

PATIENCE_S = 600.0


@pytest.mark.slow
async def test_policies_are_compared_on_what_a_state_folder_has(tmp_path: Path) -> None:
    clock = RealClock()
    now_s = clock.now()
    config_file = tmp_path / "proxy.toml"
    config_file.write_text(f'[proxy]\nstate = "{tmp_path}/state"\ntraffic_log = true\n')
    config = load_config(config_file)
    store = await open_store("embedded", clock=clock, state=config.settings.state)
    for hour in range(72, 0, -1):
        at_s = now_s - 3600.0 * hour
        await store.learn(Observation("http://a.example/x", at_s, "", Fingerprint(body=str(hour))))
    await store.close()
    TrafficFiles(config.settings.state).append(
        LoggedRequest(now_s - 60.0 * minute, "c", "http://a.example/x", 9, 200, Outcome.HIT, "ttl")
        for minute in range(4000, 0, -1)
    )
    moment = [now_s]
    comparison = PolicyComparison(config.settings.state, lambda: moment[0], clock.monotonic)
    comparison.start(config, config_file, 2.0, 0.02)
    run = comparison.last
    assert run is not None
    async with asyncio.timeout(PATIENCE_S):
        while comparison.is_running:  # noqa: ASYNC110 - as its page does
            await asyncio.sleep(0.1)
    assert run.failure == ""
    assert run.result is not None
    assert run.result.requests == 4000
    by_name = dict(run.result.replayed)
    assert by_name["oracle"].stale_hits == 0
    assert by_name["always"].cached == pytest.approx(2 * 1440, abs=5), "of the last two days"
    assert not (config.settings.state / FOLDER).exists(), "the trace is removed"
    moment[0] += KEPT_S + 1.0
    assert comparison.last is None


async def test_a_cancelled_comparison_has_ended_at_once(tmp_path: Path) -> None:
    """Its command at the lowest priority may not have: another waits for it, as does the end of the proxy."""
    config_file = tmp_path / "proxy.toml"
    config_file.write_text(f'[proxy]\nstate = "{tmp_path}/state"\ntraffic_log = true\n')
    config = load_config(config_file)
    comparison = PolicyComparison(config.settings.state, lambda: 9.0, RealClock().monotonic)
    for _ in range(2):
        comparison.start(config, config_file, 2.0, 0.02)
        await asyncio.sleep(0.3)
        comparison.cancel()
        assert not comparison.is_running
        assert comparison.last is not None
        assert comparison.last.failure == "it was cancelled"
    await comparison.close()
    assert not (config.settings.state / FOLDER).exists()
