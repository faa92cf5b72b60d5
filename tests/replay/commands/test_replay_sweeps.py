"""`bestbefore replay` with many policies, and with a folder for its results."""

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.commands.replay import command

MAIN = "from bestbefore.addon.cli import main; main()"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> Path:
    """The current folder, with the excerpt as u.csv and r.csv.gz."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").symlink_to(data / "excerpt.updates.csv")
    (tmp_path / "r.csv.gz").symlink_to(data / "excerpt.requests.csv.gz")
    return tmp_path


ARGUMENTS = ("--updates", "u.csv", "--requests", "r.csv.gz", "--test-start", "1707400000")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*ARGUMENTS, *arguments])


@pytest.mark.usefixtures("folder")
def test_a_range_is_a_line_for_each_value_whatever_the_number_of_processes() -> None:
    specs = [f"ttl:alpha={alpha}" for alpha in (0.1, 0.2, 0.4)]
    single = run(*(word for spec in specs for word in ("--policy", spec)), "--json", "--jobs", "1")
    swept = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--jobs", "2")
    assert (swept.exit_code, swept.stderr) == (0, "")
    assert swept.stdout == single.stdout
    assert [json.loads(line)["params"]["alpha"] for line in swept.stdout.splitlines()] == [0.1, 0.2, 0.4]
    table = run("--policy", "ttl:alpha=0.1..0.4/3", "--policy", "indhist")
    assert [line.split()[0] for line in table.stdout.splitlines()] == ["policy", *specs, "indhist"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "ttl:alpha=0..1/5"], "--policy ttl:alpha=0..1/5: 'alpha=0..1/5': values that grow by a factor"),
        (["--policy", "ttl", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["--policy", "ttl", "--out", "u.csv"], "Invalid value for '--out'"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_the_folder_holds_the_counts_and_a_report_with_the_oracle_beside_them(folder: Path) -> None:
    result = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--out", "out/deep")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    kept = json.loads((folder / "out/deep/counts.json").read_text())
    assert kept[:3] == rows
    assert [row["policy"] for row in kept] == ["ttl", "ttl", "ttl", "oracle"]
    with (folder / "out/deep/counts.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(row["alpha"] or 0) for row in table] == [0.1, 0.2, 0.4, 0.0]
    assert [int(row["stale_hits"]) for row in table] == [row["stale_hits"] for row in kept]
    report = (folder / "out/deep/report.html").read_text()
    assert all(text in report for text in ("ttl:alpha=0.2", "oracle", "u.csv", "r.csv.gz", "one for each client"))
    assert sorted(path.name for path in (folder / "out/deep").iterdir()) == [
        "counts.csv", "counts.json", "finished.jsonl", "report.html",
    ]


def test_the_report_has_the_parts_too(folder: Path) -> None:
    run("--policy", "ttl", "--per-domain", "--out", "out")
    report = (folder / "out/report.html").read_text()
    assert "<h2>By domain</h2>" in report
    assert report.count('<td class="part">ipr</td>') == 2  # of ttl and of the oracle


def test_an_oracle_that_was_asked_for_stands_where_it_was_asked_for(folder: Path) -> None:
    run("--policy", "oracle", "--policy", "ttl", "--out", "out")
    assert [row["policy"] for row in json.loads((folder / "out/counts.json").read_text())] == ["oracle", "ttl"]


def test_finished_points_are_not_counted_again_unless_the_trace_changed(folder: Path) -> None:
    """The kept counts are changed by hand, so that it shows where they are used."""
    first = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--out", "out")
    finished = folder / "out/finished.jsonl"
    finished.write_text(finished.read_text().replace('"misses": ', '"misses": 7777'))
    again = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--out", "out")
    assert all(str(json.loads(line)["misses"]).startswith("7777") for line in again.stdout.splitlines())
    changed = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--out", "out", "--cache", "shared")
    assert "7777" not in changed.stdout
    (folder / "u.csv").unlink()
    (folder / "u.csv").write_text("object,time\nipr/57,1707400000\n")
    other = run("--policy", "ttl:alpha=0.1..0.4/3", "--json", "--out", "out")
    assert "7777" not in other.stdout
    assert other.stdout != first.stdout


SLOW = "indhist:theta=0.0001..0.0002/3000"
"""Many points, so that there is time to end it early."""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_ended_leaves_what_was_finished(
    folder: Path, sent: signal.Signals, start_process: Callable[..., subprocess.Popen[str]]
) -> None:
    arguments = ["replay", *ARGUMENTS, "--policy", SLOW, "--out", "out", "--jobs", "2"]
    sweep = start_process(
        [sys.executable, "-c", MAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    finished = folder / "out/finished.jsonl"
    while not (finished.exists() and finished.read_text().count("\n") >= 2):
        assert sweep.poll() is None
        time.sleep(0.001)
    sweep.send_signal(sent)
    stdout, stderr = sweep.communicate(timeout=60)
    assert stdout == ""
    if sent == signal.SIGINT:
        assert sweep.returncode == 130
        assert stderr.strip() == (
            "bestbefore replay: interrupted; what was finished is kept in out, where the same command goes on"
        )
    assert not (folder / "out/report.html").exists()
    assert 2 <= finished.read_text().count("\n") < 3001


def test_on_a_terminal_a_bar_shows_how_many_points_are_done(
    folder: Path, on_terminal: Callable[..., tuple[bytes, str]]
) -> None:
    arguments = ["replay", *ARGUMENTS, "--policy", "ttl:alpha=0.1..0.4/3", "--json", "--jobs", "2"]
    printed, shown = on_terminal(sys.executable, "-c", MAIN, *arguments)
    assert "policies" in shown
    assert "100%" in shown
    assert len(printed.splitlines()) == 3
