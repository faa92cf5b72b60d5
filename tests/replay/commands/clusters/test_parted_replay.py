"""Whole commands, as a user gives them; the cluster is of real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from bestbefore.replay.commands.convert import command as convert
from bestbefore.replay.commands.replay import command as replay
from bestbefore.replay.parted.manifest import PartedTrace

DATA = Path(__file__).parents[3] / "data"
FILES = ["--updates", f"{DATA / 'excerpt.updates.csv'}", "--requests", f"{DATA / 'excerpt.requests.csv.gz'}"]
POLICIES = ["--policy", "ttl:alpha=0.02..0.5/4", "--policy", "renewal", "--group", "domain", "--per-domain", "--json"]
MAIN = "from bestbefore.addon.cli import main; main()"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "trace"
    given = ["--parts", "4", "--by", "domain", *FILES[:2], FILES[3], str(folder), "--json"]
    result = CliRunner().invoke(convert, given)
    done = {"folder": str(folder), "parts": 4, "by": "domain", "updates": 453, "requests": 6565}
    assert (result.exit_code, json.loads(result.stdout)) == (0, done)
    return folder


@pytest.fixture(scope="module")
def whole() -> str:
    return CliRunner().invoke(replay, [*FILES, *POLICIES]).stdout


def test_in_one_process_the_output_is_that_of_the_whole_trace(trace: Path, whole: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        replay, ["--trace", str(trace), *POLICIES, "--jobs", "1", "--out", str(tmp_path)]
    )
    assert (result.exit_code, result.stdout) == (0, whole)
    assert "4, by domain" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trace", "{}", *FILES], "--trace DIR replaces --updates, --requests and --log: give one or the others"),
        ([*FILES, "--on", "tcp://127.0.0.1:9"], "--on needs --trace DIR, a trace in parts"),
        (["--trace", "/nowhere"], "/nowhere/manifest.json: no such file"),
        (["--trace", "{}", "--refresh"], "--trace is replayed with its requests"),
        (["--trace", "{}", "--through", "addon"], "--through addon replays one file"),
        (["--trace", "{}", "--policy", "agghist"], "--policy agghist: agghist reads the whole trace as one group"),
        (["--trace", "{}", "--objects", "/nowhere"], "/nowhere: No such file or directory"),
    ],
)
def test_what_parts_cannot_do_is_refused(arguments: list[str], said: str, trace: Path) -> None:
    given = [argument.format(trace) for argument in arguments]
    result = CliRunner().invoke(replay, [*given, "--policy", "ttl", "--jobs", "1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {said}")


@pytest.mark.slow
def test_a_cluster_gives_the_same_and_goes_on_when_a_worker_is_killed(
    trace: Path, whole: str, tmp_path: Path, free_port: Callable[[], int],
    start_process: Callable[..., subprocess.Popen[str]],
) -> None:  # fmt: skip
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m", "dask"]
    start_process([*dask, "scheduler", "--host", address, "--no-dashboard"], stderr=subprocess.DEVNULL)
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    workers = [start_process(worker, stderr=subprocess.DEVNULL) for _ in range(2)]
    command = [sys.executable, "-c", MAIN, "replay", "--on", address, "--trace", str(trace), *POLICIES]
    running = start_process([*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    finished = tmp_path / "finished.jsonl"
    while not (finished.exists() and finished.read_text()):
        assert running.poll() is None
        time.sleep(0.01)
    os.kill(workers[0].pid, signal.SIGKILL)
    assert running.communicate(timeout=120)[0] == whole
    points = finished.read_text().splitlines()
    assert len(points) == len({json.dumps(json.loads(point), sort_keys=True) for point in points})
    part = next(trace / part.requests for part in PartedTrace.read(trace).parts if part.request_rows)
    part.rename(trace / "gone")
    lost = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    (trace / "gone").rename(part)
    assert (lost.returncode, lost.stdout) == (1, "")
    assert lost.stderr.startswith("bestbefore: worker tcp://127.0.0.1:")
    assert lost.stderr.endswith(f"{part}: No such file or directory\n")
