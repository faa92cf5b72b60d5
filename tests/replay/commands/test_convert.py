import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.addon.cli import COMMANDS
from bestbefore.replay.commands.convert import command
from bestbefore.replay.traces.formats.table import FORMATS

MAIN = "from bestbefore.addon.cli import main; main()"
LINE = '192.0.2.{} - - [10/Oct/2000:20:55:{:02} +0000] "GET /{} HTTP/1.1" 200 {} "-" "curl"\n'


@pytest.fixture(autouse=True)
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log a.log, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text("".join(LINE.format(n % 3, n, n % 2, n) for n in range(10)) + "bad\n")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".npz"])
def test_a_log_becomes_columns_and_they_again(ending: str) -> None:
    result = run("a.log", f"out{ending}")
    assert (result.exit_code, result.stdout) == (
        0, f"out{ending}: 10 requests by 3 clients for 2 objects in 9.0 s (combined); bad entries skipped: 1\n"
    )
    assert result.stderr.splitlines() == [
        "bestbefore convert: warning: a.log: 1 bad entry skipped:",
        "bestbefore convert: warning: a.log: line 11: 'bad': expected a line of an access log",
    ]
    again = run(f"out{ending}", "again.csv")
    assert (again.exit_code, again.stderr) == (0, "")
    assert Path("again.csv").read_text().splitlines()[:2] == [
        "time,client,object,agent,size,status", "971211300,192.0.2.0,/0,0,0,200",
    ]


def test_the_format_may_be_named() -> None:
    done = json.loads(run("--format", "combined", "a.log", "out.csv", "--json").stdout)
    assert (done["file"], done["format"], done["rows"] > 0) == ("out.csv", "combined", True)
    result = run("--format", "squid", "a.log", "out.csv")
    assert result.exit_code == 2
    wrong = "a.log: nothing usable, read as squid (Squid native access.log); bad entries: 11"
    assert result.stderr.startswith(f"Error: {wrong}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "combind", "a.log", "o.csv"],
            f"--format: unknown format 'combind', did you mean 'combined'? (known: {', '.join(FORMATS)})",
        ),
        (["a.log", "o.txt"], "o.txt: expected a name that ends in .npz, .parquet, .csv, .csv.gz"),
        (["none.log", "o.csv"], "none.log: No such file or directory"),
        (["o.csv", "./o.csv"], "o.csv: is the file to be read: give another one"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    Path("o.csv").write_text("object,time\na,1\n")
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {message}\n")
    assert Path("o.csv").read_text() == "object,time\na,1\n"


def test_a_folder_that_is_not_there_is_exit_1() -> None:
    result = subprocess.run(
        [sys.executable, "-c", MAIN, "convert", "a.log", "none/o.csv"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "bestbefore: none/o.csv: No such file or directory"


def test_a_file_is_replaced_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("o.npz").write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez", full)
    result = run("a.log", "o.npz")
    assert isinstance(result.exception, OSError)
    assert Path("o.npz").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["a.log", "o.npz"]


def test_a_new_file_may_be_read_by_whom_the_umask_lets() -> None:
    before = os.umask(0o027)
    try:
        run("a.log", "o.csv")
    finally:
        os.umask(before)
    assert Path("o.csv").stat().st_mode & 0o777 == 0o640


def test_the_help_names_each_format_and_what_it_carries() -> None:
    text = run("--help").stdout
    for name, format_ in FORMATS.items():
        assert f"  {name}: {format_.what} ({format_.carries.names()})" in text
    assert COMMANDS["convert"].load() is command


def test_on_a_terminal_a_bar_shows_how_far_it_is(on_terminal: Callable[..., tuple[bytes, str]]) -> None:
    Path("b.log.gz").write_bytes(gzip.compress(Path("a.log").read_bytes() * 1000))
    printed, shown = on_terminal(sys.executable, "-c", MAIN, "convert", "b.log.gz", "o.npz")
    assert "reading b.log.gz" in shown
    assert printed.startswith(b"o.npz: 10,000 requests by 3 clients")


def test_a_pipe_can_be_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "convert", "/dev/stdin", "o.csv"], input=Path("a.log").read_bytes(),
        stdout=subprocess.PIPE, check=True,
    )
    assert done.stdout.startswith(b"o.csv: 10 requests")


def test_without_polars_parts_are_refused_before_anything_is_read_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    result = run("--parts", "2", "a.log", "parts")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: Parquet needs the extra 'parquet': ")
    assert "bad entry skipped" not in result.stderr, "it was not read"
    assert not Path("parts").exists()
