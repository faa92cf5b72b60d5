"""Kernels are compiled once and kept, whatever has become of the folder where they are."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

compiling = pytest.importorskip("bestbefore.replay.kernels.compiling")
DAY_S = 86400.0


def doubled(number: float) -> float:
    return 2.0 * number


def times_compiled() -> int:
    """How often a process that begins now compiles the function to call it."""
    function = compiling.compiled(doubled)
    assert function(21.0) == 42.0
    return sum(function.stats.cache_misses.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled code is kept; it is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = compiling.cache_folder()
    assert isinstance(path, Path)
    assert path.is_relative_to(tmp_path)
    return path


@pytest.mark.usefixtures("folder")
def test_what_one_process_compiles_the_next_one_finds() -> None:
    assert [times_compiled(), times_compiled()] == [1, 0]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("size", [0, 10])
def test_a_truncated_file_is_made_again(folder: Path, ending: str, size: int) -> None:
    times_compiled()
    (file,) = folder.rglob(f"*.{ending}")
    os.truncate(file, size)
    assert [times_compiled(), times_compiled()] == [1, 0]


def test_what_cannot_be_written_is_not_kept(folder: Path) -> None:
    times_compiled()
    (file,) = folder.rglob("*.nbi")
    file.unlink()
    file.mkdir()
    assert [times_compiled(), times_compiled()] == [1, 1]


def test_without_a_folder_nothing_is_kept_anywhere(folder: Path) -> None:
    folder.parent.parent.mkdir()
    folder.parent.write_text("no folder")
    assert compiling.compiled(doubled).stats.cache_path is None
    assert times_compiled() == 1


def test_a_new_folder_removes_those_of_other_sources_unused_for_a_month(folder: Path) -> None:
    ages_days = {"0123456789abcdef": 31, "fedcba9876543210": 29, "0123456789abcdeg": 31, "0123456789abcde": 31}
    for name, age_days in ages_days.items():
        other = folder.parent / name / "walk"
        other.mkdir(parents=True)
        os.utime(other.parent, (0, other.stat().st_mtime - age_days * DAY_S))
    compiling.compiled(doubled)
    left = {other.name for other in folder.parent.iterdir()}
    assert left == {folder.name, *ages_days} - {"0123456789abcdef"}


def test_a_folder_that_is_used_is_not_old(folder: Path) -> None:
    compiling.compiled(doubled)
    os.utime(folder, (0, 0))
    compiling.compiled(doubled)
    assert folder.stat().st_mtime > 31 * DAY_S


def test_an_interrupt_ends_a_compilation() -> None:
    """KeyboardInterrupt would be lost in a callback from LLVM."""
    script = (
        "import os, signal, ctypes\n"
        "from bestbefore.replay.kernels.compiling import ended_by_interrupt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with ended_by_interrupt():\n"
        "    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()\n"
        "print('it went on')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with compiling.ended_by_interrupt():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
