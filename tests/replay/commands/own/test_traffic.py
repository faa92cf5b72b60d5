"""`bestbefore recommend` on the traffic of a proxy: a real store, a real log."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from bestbefore.addon import cli
from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles

pytestmark = pytest.mark.live

URL = "http://www.example.org/a"
START_S = float(int(RealClock().now())) - 40_000.0


async def fill(state: Path) -> None:
    """An update each 500 s, a request each 50 s."""
    store = await open_store("embedded", clock=RealClock(), state=state)
    for n in range(80):
        seen = Fingerprint(body=str(n), last_modified_s=START_S + 500 * n)
        await store.learn(Observation(URL, START_S + 500 * n + 1, "", seen))
    assert await store.flush()
    await store.close()
    TrafficFiles(state).append(
        LoggedRequest(START_S + 50 * n, "c", URL, 7, 200, Outcome.HIT, "ttl") for n in range(800)
    )


def test_the_traffic_of_a_proxy_becomes_a_change_of_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(fill(tmp_path / "state"))
    config = Path("proxy.toml")
    config.write_text('[proxy]\nstate = "state"\ntraffic_log = true\n\n[default]\npolicy = "never"  # mine\n')
    command = ["recommend", "--stale-rate", "2%", "--policy", "fixed:interval=1s..1h/3", "--jobs", "1"]
    given = [*command, "--config", "proxy.toml"]
    assert cli.run(given) == 0
    printed = capsys.readouterr().out
    assert '-policy = "never"  # mine\n+policy = "fixed"\n+interval = 60.0\n' in printed
    assert cli.run([*given, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0]["in_use"] == "never"
    assert rows[0]["policy"] == "fixed"
    assert rows[-1]["diff"] == printed[printed.index("--- ") :]
    assert rows[-2]["whole"]["without"]["validations"] == 0 < rows[-2]["whole"]["with"]["validations"]

    for wrong, why in (
        (["--out", "proxy.toml"], "--out proxy.toml: this is the configuration in force: give another file"),
        (["--present", "ttl"], "--present is for a trace: a proxy's policies in use are those of its configuration"),
        (["--log", "proxy.toml"], "--config, --state and --store name a proxy, whose traffic is read in place of a tr"),
    ):
        assert cli.run([*given, *wrong]) == 2
        assert why in capsys.readouterr().err
    assert cli.run([*given, "--out", "new.toml"]) == 0
    capsys.readouterr()
    subprocess.run(["patch", "-s", config], input=printed, text=True, check=True)
    assert Path("new.toml").read_text().endswith(config.read_text())
    assert cli.run(given) == 0
    assert "nothing to change" in capsys.readouterr().out

    for path in TrafficFiles(tmp_path / "state").days():
        path.unlink()
    assert cli.run(given) == 1
    message = "bestbefore: there is no traffic of the proxy to learn from: no request was logged yet\n"
    assert capsys.readouterr().err == message
