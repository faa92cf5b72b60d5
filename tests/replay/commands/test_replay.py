import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.commands.replay import command

MAIN = "from bestbefore.addon.cli import main; main()"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates u.csv and requests r.csv, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("u.csv").write_text("object,time\nn/a,100\nn/a,260\nn/a,500\n")
    requests = [(200, "x"), (249, "x"), (250, "x"), (260, "y"), (300, "x"), (325, "x"), (500, "x"), (500, "x")]
    Path("r.csv").write_text("time,client,object\n" + "".join(f"{t},{client},n/a\n" for t, client in requests))


def run(*arguments: str, updates: str = "u.csv", requests: str = "r.csv") -> Result:
    return CliRunner().invoke(command, ["--updates", updates, "--requests", requests, *arguments])


@pytest.mark.usefixtures("trace")
def test_json_is_one_object_a_policy_in_the_order_given() -> None:
    result = run("--policy", "ttl:alpha=0.5", "--policy", "indttl:window=2h,threshold=inf", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    ttl, indttl = map(json.loads, result.stdout.splitlines())
    assert list(ttl.items()) == [
        ("policy", "ttl"),
        ("params", {"alpha": 0.5}),
        ("cache", "client"),
        ("history", "complete"),
        ("through", "fast"),
        ("requests", 8),
        ("misses", 2),
        ("cached", 6),
        ("hits", 2),
        ("stale_hits", 1),
        ("validations", 4),
        ("unnecessary", 2),
    ]
    assert indttl["policy"] == "indttl"
    assert indttl["params"] == {"theta": 0.1, "alpha": 0.1, "window": 7200.0, "threshold": "inf"}


@pytest.mark.usefixtures("trace")
def test_a_table_has_a_line_for_each_policy_as_it_was_given() -> None:
    result = run("--policy", "ttl:alpha=.5", "--policy", "agghist", "--cache", "shared")
    assert result.exit_code == 0
    header, ttl, agghist = result.stdout.splitlines()
    assert header.split("  ")[0] == "policy"
    assert ttl.split() == ["ttl:alpha=.5", "fast", "8", "1", "7", "3", "2", "4", "2"]
    assert agghist.split()[0] == "agghist"
    assert len(header) == len(ttl) == len(agghist)


@pytest.mark.usefixtures("trace")
def test_the_test_start_leaves_requests_out() -> None:
    result = run("--policy", "ttl:alpha=0.5", "--json", "--test-start", "300", "--origin", "50", "--group", "prefix")
    assert json.loads(result.stdout)["requests"] == 4


@pytest.mark.usefixtures("trace")
def test_warnings_go_to_stderr_a_line_each() -> None:
    Path("u.csv").write_text("object,time\nn/a,260\nn/a,100\n")
    result = run("--policy", "ttl", "--json", "--origin", "150")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr.splitlines() == [
        "bestbefore replay: warning: u.csv: out of order, sorted by time",
        "bestbefore replay: warning: 1 updates before the origin, 150, dropped",
    ]


@pytest.mark.usefixtures("trace")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "indtl"], "--policy indtl: unknown policy 'indtl', did you mean 'indttl'?"),
        (["--policy", "ttl:alpa=1"], "--policy ttl:alpa=1: unknown parameter of ttl 'alpa', did you mean 'alpha'?"),
        (["--policy", "ttl", "--origin", "nan"], "--origin nan: expected a number of Unix seconds, finite and 0 or m"),
        (["--policy", "ttl", "--test-start", "soon"], "--test-start soon: expected a number of Unix seconds"),
        (["--policy", "ttl", "--test-start", "5", "--origin", "6"], "the test start, 5, must not lie before the orig"),
        (["--policy", "ttl", "--updates", "v.csv"], "--updates v.csv: given twice, expected one file (first u.csv)"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {message}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("trace")
def test_a_wrong_policy_is_reported_before_a_trace_is_read() -> None:
    assert "unknown policy" in run("--policy", "nix", updates="none.csv").stderr


@pytest.mark.usefixtures("trace")
@pytest.mark.parametrize(
    ("updates", "requests", "message"),
    [
        ("none.csv", "r.csv", "none.csv: No such file or directory\n"),
        ("r.csv", "u.csv", "u.csv: line 1: no column 'client' in "),
    ],
)
def test_a_file_that_cannot_be_read_as_what_it_is_given_for_is_named(updates: str, requests: str, message: str) -> None:
    result = run("--policy", "ttl", updates=updates, requests=requests)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {message}")


@pytest.mark.parametrize("arguments", [["--help"], ["--updates", "u.csv", "--requests", "r.csv", "--policy", "indttl"]])
@pytest.mark.usefixtures("trace")
def test_a_replay_imports_neither_mitmproxy_nor_a_store(arguments: list[str]) -> None:
    check = (
        "import sys\n"
        "from bestbefore.addon.cli import run\n"
        f"assert run(['replay', *{arguments!r}]) == 0\n"
        "print([name for name in ('mitmproxy', 'redis', 'aiohttp', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.usefixtures("trace")
def test_on_a_terminal_a_bar_shows_how_far_it_is_and_stdout_holds_the_result_alone(
    on_terminal: Callable[..., tuple[bytes, str]]
) -> None:
    arguments = ["replay", "--updates", "u.csv", "--requests", "r.csv", "--policy", "ttl", "--json"]
    printed, shown = on_terminal(sys.executable, "-c", MAIN, *arguments)
    assert "ttl" in shown
    assert "100%" in shown
    assert json.loads(printed)["requests"] == 8
