"""The trace that `bestbefore replay` is given."""

import json
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.commands.replay import command
from bestbefore.replay.commands.trace_options import TraceOptions, read_given
from bestbefore.replay.traces.columns.columnar import Table, Text
from bestbefore.replay.traces.columns.files import WRITERS
from bestbefore.replay.traces.formats.table import FORMATS

LINE = '{} - - [10/Oct/2000:{:02}:{:02}:00 +0000] "GET {} HTTP/1.1" {} {}\n'


@pytest.fixture(autouse=True)
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log a.log in the current folder: /a is polled each minute and changes after half an hour."""
    monkeypatch.chdir(tmp_path)
    polls = [LINE.format("192.0.2.1", 20, minute, "/a", 200, 100 if minute < 30 else 200) for minute in range(60)]
    others = [LINE.format("192.0.2.2", 21, 0, "/none", 404, 9), LINE.format("192.0.2.2", 21, 1, "/b", 304, "-")]
    Path("a.log").write_text("".join([*polls, *others, "bad\n"]))
    Path("u.csv").write_text("object,time\n/a,971211300\n")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["--policy", "ttl:alpha=0.5", *arguments])


def test_a_log_is_all_that_a_replay_needs() -> None:
    result = run("--log", "a.log", "--json")
    assert result.exit_code == 0
    counts = json.loads(result.stdout)
    assert (counts["requests"], counts["misses"]) == (61, 2)
    assert 0 < counts["validations"] - counts["unnecessary"] <= 1
    assert result.stderr.splitlines() == [
        "bestbefore replay: warning: a.log: 1 bad entry skipped:",
        "bestbefore replay: warning: a.log: line 63: 'bad': expected a line of an access log",
        "bestbefore replay: a.log: 62 requests by 2 clients for 3 objects in 1.0 h (common)",
        "bestbefore replay: a.log: requests left out, answered neither with the object nor with 304: 1",
        "bestbefore replay: a.log: 1 update of 1 object inferred, seen before and after by 1 client and dated to "
        "within 60 s (medians); the chance of mere page variants is at most 1 in 1,000 for 1 of them, 1 in 20 for all",
    ]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".npz"])
def test_a_converted_log_is_replayed_as_the_log_is(ending: str) -> None:
    main = f"from bestbefore.addon.cli import main; main(['convert', 'a.log', 'c{ending}'])"
    subprocess.run([sys.executable, "-c", main], check=True, capture_output=True)
    assert run("--log", f"c{ending}", "--json").stdout == run("--log", "a.log", "--json").stdout


def test_updates_and_requests_may_be_archives_of_columns() -> None:
    np.savez("u.npz", time=[971211300.0], object=["/a"])
    np.savez("r.npz", time=971210000.0 + 60 * np.arange(50), object=["/a"] * 50, client=["x"] * 50)
    result = run("--updates", "u.npz", "--requests", "r.npz", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["requests"] == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --updates FILE and --requests FILE, or --log FILE"),
        (["--requests", "r.csv"], "expected --updates FILE and --requests FILE, or --log FILE"),
        (["--log", "a.log", "--updates", "u.csv"], "--log FILE replaces --updates and --requests: give one"),
        (["--updates", "u.csv", "--requests", "u.csv", "--format", "csv"], "--format needs --log FILE; the format"),
        (["--log", "a.log", "--format", "comon"], "--format: unknown format 'comon', did you mean 'common'?"),
        (["--log", "a.log", "--format", "har"], "a.log: not an HTTP archive: "),
        (["--log", "none.log"], "none.log: No such file or directory"),
        (["--log", "only404.log"], "only404.log: no request was answered with the object (status 200, 203 or 304)"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    Path("only404.log").write_text(LINE.format("192.0.2.2", 21, 0, "/none", 404, 9))
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith(f"Error: {message}")


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_files_with_a_header_only(ending: str) -> None:
    """Nothing may ever change, but without requests, or without both, there is nothing to replay."""
    Path("r.csv").write_text("time,client,object\n1,x,a\n2,x,a\n")
    nothing = Table(np.empty(0), {name: Text(np.empty(0, np.int32), ()) for name in ("client", "object")})
    with Path(f"none{ending}").open("wb") as file:
        WRITERS[ending](file, nothing)
    result = run("--updates", f"none{ending}", "--requests", "r.csv", "--json")
    assert result.exit_code == 0
    assert result.stderr == f"bestbefore replay: warning: none{ending}: no update, so that no hit can be stale\n"
    expected = "expected at least one row below the header"
    for arguments, wrong in (
        (["--updates", "u.csv", "--requests", f"none{ending}"], f"no request: {expected}"),
        (["--updates", f"none{ending}", "--refresh"], f"no update: {expected}"),
        (["--log", f"none{ending}"], f"nothing usable, read as {ending[1:]} ({FORMATS[ending[1:]].what})"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: none{ending}: {wrong}\n")


def test_a_file_of_another_format_is_reported(tmp_path: Path) -> None:
    (tmp_path / "feeds").mkdir()
    for arguments, wrong in (
        (["--updates", "a.log"], "a.log: line 1: no column 'object' in '192.0.2.1"),
        (["--updates", "u.csv", "--requests", "feeds"], "feeds: Is a directory; it is read with --log, as feeds\n"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {wrong}")
        assert "; it is read with --log, as " in result.stderr
    assert "--log" not in run("--updates", "none.csv").stderr


def test_a_folder_of_feeds_is_refreshed(tmp_path: Path) -> None:
    items = "".join(f"<item><guid>{day}</guid><pubDate>{day} Jan 2024</pubDate></item>" for day in range(1, 31))
    (tmp_path / "feeds").mkdir()
    Path("feeds/a.xml").write_text(f"<rss><channel><title>a</title>{items}</channel></rss>")
    Path("feeds/l.opml").write_text(
        '<opml><body><outline text="News"><outline text="a" xmlUrl="http://e.org/a"/></outline></body></opml>'
    )
    result = run("--refresh", "--log", "feeds/l.opml", "--objects", "feeds/l.opml", "--json")
    whole, news = map(json.loads, result.stdout.splitlines())
    assert (whole["updates"], whole["unfetched"], news["class"], news["updates"]) == (22, 0, "News", 22)
    assert result.stderr == "bestbefore replay: feeds/l.opml: 30 updates of 1 object in 29.0 d (opml)\n"


def test_requests_of_a_log_that_do_not_count_are_reported() -> None:
    result = run("--refresh", "--log", "a.log", "--json")
    assert json.loads(result.stdout)["refreshes"] == 0
    said = "bestbefore replay: with --refresh the updates of a log count, not its requests"
    assert said in result.stderr.splitlines()


def test_requests_with_the_times_of_an_unset_clock_are_reported() -> None:
    wrong = LINE.format("192.0.2.3", 20, 0, "/a", 200, 100).replace("Oct/2000", "Jan/1970")
    Path("b.log").write_text(wrong + Path("a.log").read_text())
    result = run("--log", "b.log")
    assert result.exit_code == 0
    assert "b.log: 1 request dated over a year before the others, which begin at 971208000: " in result.stderr


def test_a_trace_without_requests_cannot_be_replayed_as_requests() -> None:
    for arguments in (["--updates", "u.csv"], ["--log", "u.csv"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "requests" in result.stderr.splitlines()[-1]


def test_files_that_name_objects_differently_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    updates, requests = tmp_path / "u.csv", tmp_path / "r.csv"
    updates.write_text("object,time\nhttp://h/a,1\n")
    requests.write_text("time,client,object\n2,c,/a\n")
    with click.Context(click.Command("replay"), info_name="replay"):
        read_given(TraceOptions(updates, requests))
    assert capsys.readouterr().err == (
        f"bestbefore replay: warning: {requests}: no object has an update in {updates}: expected the same names in "
        "both, not such as '/a' and 'http://h/a'\n"
    )
