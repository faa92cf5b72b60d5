"""What a real proxy lived through, exported after it was killed, and replayed."""

import csv
import json
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.traffic.files import TrafficFiles

pytestmark = pytest.mark.live

COMMAND = Path(sys.executable).parent / "bestbefore"
PATIENCE_S = 60.0
CLIENTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
PATHS = ("/steady", "/busy")
LOST_S = 1.0
"""What docs/exporting.md says a kill costs at most."""
STILL_S = 4.0
"""For so long a busy machine may stand still, just before the kill."""

Start = Callable[..., Any]


def get(proxy: Any, client: str, url: str, **fields: str) -> int:
    """A request of a client at this address."""
    connection = HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S, source_address=(client, 0))
    try:
        connection.request("GET", url, headers=fields)
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    return response.status


def logged(proxy: Any) -> list[tuple[float, str]]:
    files = TrafficFiles(proxy.state)
    return [(request.time_s, request.url) for path in files.days() for request in files.read(path)]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def run(*args: object) -> str:
    return subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_recorded_traffic_is_exported_after_a_kill_and_replayed(
    start_proxy: Start, start_origin: Start, tmp_path: Path
) -> None:
    origin = start_origin({})
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\ntraffic_log = true\n[default]\npolicy = "fixed"\ninterval = 1.0\n')
    proxy = start_proxy("--config", str(config))
    assert f"traffic log  {proxy.state}/traffic: requests are kept for 30d" in proxy.greeting

    now, sent, updated_s = time.time(), 0, 0.0
    origin.updates = {path: [now - 40] for path in (*PATHS, "/personal")}

    def is_validated_and_updated() -> bool:
        contacts = [one for one in origin.contacts if one.path in PATHS]
        return any(one.status == 304 for one in contacts) and any(one.version == 2 for one in contacts)

    end = time.monotonic() + PATIENCE_S
    while not is_validated_and_updated() or time.time() < updated_s + 1.5:
        assert time.monotonic() < end
        for client in CLIENTS:
            for path in PATHS:
                assert get(proxy, client, origin.url + path) == 200
                sent += 1
        assert get(proxy, CLIENTS[0], origin.url + "/personal", Cookie="who=me") == 200
        assert get(proxy, CLIENTS[0], origin.url + "/missing?token=secret", Authorization="Basic bWU6bWU=") == 404
        if not updated_s:  # a whole second, as Last-Modified tells it, and after the first contact
            updated_s = int(time.time()) + 1.0
            origin.updates["/busy"].append(updated_s)
        time.sleep(0.05)
    wait_until(lambda: len(logged(proxy)) == sent)
    for _ in range(20):
        get(proxy, CLIENTS[0], origin.url + "/steady")
    killed_at = time.time()
    proxy.stop(signal.SIGKILL)

    out = tmp_path / "out"
    shown = run("export", "--out", out, "--state", proxy.state, "--config", config)
    with (out / "requests.csv").open(newline="") as file:
        requests = list(csv.DictReader(file))
    assert sent <= len(requests) <= sent + 20
    assert len(requests) == sent + 20 or killed_at - float(requests[-1]["time"]) < LOST_S + STILL_S
    assert {request["object"] for request in requests} == {origin.url + path for path in PATHS}
    assert len({request["client"] for request in requests}) == len(CLIENTS)
    assert not {request["client"] for request in requests} & set(CLIENTS)
    assert "secret" not in (out / "requests.csv").read_text()
    updates = [line.rpartition(",") for line in (out / "updates.csv").read_text().splitlines()[1:]]
    assert [(url, float(t)) for url, _, t in updates][-1] == (origin.url + "/busy", updated_s)

    told = Counter(request["verdict"] for request in requests)
    command = shlex.split(shown[shown.index("bestbefore replay") :].replace("\\\n", " "))
    counts = json.loads(run(*command[1:], "--json").splitlines()[-1])
    assert (counts["policy"], counts["params"]["interval"]) == ("fixed", 1.0)
    assert counts["requests"] == len(requests)
    assert counts["misses"] == told["miss"] == len(PATHS)
    assert told["hit"] > told["validated"] > 0
    # Live, a lifetime counts from the origin's answer; in the replay, from the request. Each may part a request.
    contacts = told["validated"] + told["updated"]
    assert abs(counts["hits"] - told["hit"]) <= contacts
    assert abs(counts["validations"] - contacts) <= contacts
