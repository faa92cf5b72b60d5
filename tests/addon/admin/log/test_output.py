"""What the proxy writes, and where."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.output import Output, text_stream

ONE = Answered(time_s=0.0, client="192.0.2.7", method="GET", url="http://example.org/1", status=200)


@contextmanager
def streams(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Standard output and standard error, as files."""
    out, err = folder / "out", folder / "err"
    with out.open("a") as stdout, err.open("a") as stderr, redirect_stdout(stdout), redirect_stderr(stderr):
        yield out, err


def written(name: str, file: Path | None, *, quiet: bool = False) -> None:
    output = Output(name, file, keep_query=False, quiet=quiet)
    output.add(ONE)
    output.say("summary\n")
    output.close()


def test_people_read_lines_and_texts_on_standard_output(tmp_path: Path) -> None:
    with streams(tmp_path) as (out, _):
        written("line", None)
    assert [part.split()[-1] for part in out.read_text().splitlines()] == ["http://example.org/1", "summary"]


def test_a_log_for_programs_has_standard_output_to_itself(tmp_path: Path) -> None:
    with streams(tmp_path) as (out, err):
        written("json", None)
    assert json.loads(out.read_text())["url"] == "http://example.org/1"
    assert err.read_text() == "summary\n"


def test_quiet_leaves_the_texts(tmp_path: Path) -> None:
    with streams(tmp_path) as (out, _):
        written("line", None, quiet=True)
    assert out.read_text() == "summary\n"


def test_a_file_gets_the_lines_also_when_quiet_and_no_one_else_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "log"
    with streams(tmp_path) as (out, _):
        written("{url}", file, quiet=True)
        written("{url}", file)
    assert file.read_text() == "http://example.org/1\n" * 2
    assert out.read_text() == "summary\n" * 2
    assert not file.stat().st_mode & 0o027


def test_a_renamed_file_is_left_when_it_is_opened_again(tmp_path: Path) -> None:
    file, old = tmp_path / "log", tmp_path / "log.1"
    with streams(tmp_path):
        output = Output("{url}", file, keep_query=False, quiet=False)
        output.add(ONE)
        file.rename(old)
        output.add(ONE)
        output.reopen()
        output.add(ONE)
        output.close()
    assert [path.read_text().count("\n") for path in (old, file)] == [2, 1]


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=os.strerror(2)):
        Output("json", tmp_path / "no" / "log", keep_query=False, quiet=False)


def test_texts_go_where_no_program_reads(tmp_path: Path) -> None:
    with streams(tmp_path):
        found = [text_stream("line", None), text_stream("json", tmp_path / "log"), text_stream("json", None)]
        assert found == [sys.stdout, sys.stdout, sys.stderr]
