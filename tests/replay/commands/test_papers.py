import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon.cli import run
from bestbefore.replay.papers.table import PAPERS

PAPER = '''
def write(work, page):
    page.title("One")
    page.text(work.trace("one.csv").read_text())
    page.table(("a", "b"), [("1", "2")])
'''


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Papers of which there is one, `one`, with a trace in this folder."""
    (tmp_path / "paper_one.py").write_text(PAPER)
    (tmp_path / "one.csv").write_text("text of the trace")
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(PAPERS, dict)
    monkeypatch.setattr("bestbefore.replay.papers.table.PAPERS", {"one": "paper_one"})
    monkeypatch.setattr("bestbefore.replay.commands.papers.PAPERS", {"one": "paper_one"})
    monkeypatch.delenv("BESTBEFORE_TRACES", raising=False)
    return tmp_path


@pytest.mark.parametrize("names", [[], ["one"], ["one", "one"]])
def test_a_page_is_written_and_its_path_printed(
    papers: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["papers", *names, "--traces", str(papers), "--out", str(papers / "results")]) == 0
    assert capsys.readouterr().out == f"{papers / 'results' / 'one.md'}\n"
    text = (papers / "results" / "one.md").read_text()
    assert text.startswith("# One\n\ntext of the trace\n\n| a | b |")
    assert " cores, " in text


def test_the_folder_of_traces_may_come_from_the_environment(papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BESTBEFORE_TRACES", str(papers))
    assert run(["papers", "--out", str(papers / "results")]) == 0


def test_an_unknown_paper_is_refused_with_the_nearest(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["papers", "onee", "--traces", str(papers)]) == 2
    assert capsys.readouterr().err == "bestbefore: unknown paper 'onee', did you mean 'one'? (known: one)\n"


def test_a_trace_that_is_not_there_is_named(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (papers / "one.csv").unlink()
    assert run(["papers", "--traces", str(papers), "--out", str(papers / "results")]) == 2
    expected = f"{papers / 'one.csv'}: no such file; expected the folder of traces to have it"
    assert capsys.readouterr().err == f"bestbefore: {expected}\n"
    assert not (papers / "results").exists()


def test_without_a_folder_of_traces_one_is_asked_for(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["papers", "--out", str(papers / "results")]) == 2
    assert capsys.readouterr().err == "bestbefore: expected --traces DIR, a folder with one.csv\n"


def test_a_folder_that_cannot_be_written_is_named(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (papers / "results").write_text("a file")
    assert run(["papers", "--traces", str(papers), "--out", str(papers / "results" / "deeper")]) == 1
    assert str(papers / "results") in capsys.readouterr().err


SLOW_PAPER = """
import os, threading

def wait(_):
    os.write(1, b"on\\n")  # at once: print may write the end of the line by itself, after another's line
    threading.Event().wait()

def write(work, page):
    page.title("New")
    work.each(wait, [1, 2], "waiting")
"""
PROGRAM = """
import sys
from bestbefore.addon.cli import main
from bestbefore.replay.papers import table
table.PAPERS["slow"] = "slow_paper"
main(["papers", "slow", "--jobs", "2", "--out", sys.argv[1]])
"""


def test_ctrl_c_leaves_the_old_page_and_no_traceback(
    tmp_path: Path, start_process: Callable[..., subprocess.Popen[str]]
) -> None:
    (tmp_path / "slow_paper.py").write_text(SLOW_PAPER)
    out = tmp_path / "results"
    out.mkdir()
    (out / "slow.md").write_text("the old page")
    process = start_process(
        [sys.executable, "-c", PROGRAM, str(out)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]  # its workers have ended too: they hold the same pipes
    assert process.returncode == 130
    assert said.strip() == ""
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("slow.md", "the old page")]
