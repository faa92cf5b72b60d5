"""What a person sees who waits, and what a script does."""

import os
import pty
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bestbefore.replay.commands.progress import bar, open_watched, spinner

PATIENCE_S = 30.0


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where to read, without waiting, what is written to stderr, which is a terminal."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    with os.fdopen(slave, "w") as stream, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr("sys.stderr", stream)
        yield master
    os.close(master)


def shows(shown: int, words: bytes, within_s: float = PATIENCE_S) -> bool:
    """Whether these words are shown; what is written comes a moment later, and perhaps in parts."""
    seen, end = b"", time.monotonic() + within_s
    while words not in seen and time.monotonic() < end:
        with suppress(BlockingIOError):
            seen += os.read(shown, 100_000)
        time.sleep(0.001)
    return words in seen


def read(path: Path) -> None:
    path.write_bytes(b"abc")
    with open_watched(path) as file:
        assert file.read() == b"abc"


def count() -> None:
    with bar("counting", 3) as watch:
        assert list(watch(iter(range(3)))) == [0, 1, 2]


def test_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with terminal(monkeypatch) as shown:
        read(tmp_path / "file.csv")
        assert shows(shown, b"reading file.csv")
        count()
        assert shows(shown, b"counting")
        with spinner("thinking"):
            pass  # it is shown, at the latest, when it ends
        assert shows(shown, b"thinking")


def test_nothing_is_written_elsewhere(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    read(tmp_path / "file.csv")
    count()
    with spinner("thinking"):
        pass
    assert capfd.readouterr() == ("", "")


def test_a_program_reads_the_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BESTBEFORE_PROGRESS", "json")
    count()
    assert capsys.readouterr().err.splitlines()[-1] == '{"progress": "counting", "done": 3, "of": 3}'


def test_the_cursor_stays_visible_as_a_compilation_may_be_ended_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as shown:
        read(tmp_path / "file.csv")
        count()
        with spinner("compiling"):
            assert not shows(shown, b"\x1b[?25", within_s=0.2)
