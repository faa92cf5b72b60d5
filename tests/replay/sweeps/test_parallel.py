"""Processes are real ones here. What an argument lets happen depends on it alone, so that nothing waits for time."""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from operator import add
from pathlib import Path

import pytest

from bestbefore.replay.sweeps.parallel import parallel_map

FAILS, DIES, HANGS = -1, -2, -3


def work(argument: int) -> int:
    """The process that does it."""
    if argument == FAILS:
        raise ValueError("no value")
    if argument == DIES:
        os._exit(1)
    if argument == HANGS:
        signal.pause()
    return os.getpid()


@pytest.mark.parametrize("start_method", multiprocessing.get_all_start_methods())
def test_every_argument_gets_its_value_whatever_starts_the_processes(start_method: str) -> None:
    if start_method == "forkserver" and len(tempfile.gettempdir()) > 60:
        pytest.skip("the server's socket has no room in a folder whose path is so long")
    with parallel_map(partial(add, 10), range(5), 2, start_method) as values:
        assert dict(values) == {i: 10 + i for i in range(5)}


def test_several_arguments_are_for_other_processes() -> None:
    with parallel_map(work, range(5), 2) as values:
        assert os.getpid() not in dict(values).values()


@pytest.mark.parametrize(("arguments", "jobs"), [(range(3), 1), (range(1), 8), ([], 8)])
def test_one_job_or_argument_is_done_in_this_process(arguments: list[int], jobs: int) -> None:
    with parallel_map(work, arguments, jobs) as values:
        assert list(values) == [(place, os.getpid()) for place in range(len(arguments))]


def test_an_error_ends_all_processes() -> None:
    before = set(multiprocessing.active_children())
    with pytest.raises(ValueError, match="no value"), parallel_map(work, [HANGS, FAILS], 2) as values:
        list(values)
    assert set(multiprocessing.active_children()) <= before


def test_a_process_that_ends_by_itself_is_an_error() -> None:
    with pytest.raises(BrokenProcessPool), parallel_map(work, [DIES, 1], 2) as values:
        list(values)


def test_who_asks_for_no_more_values_leaves_no_processes() -> None:
    before = set(multiprocessing.active_children())

    def asks_once() -> None:
        with parallel_map(work, [1, HANGS, HANGS], 2) as values:
            next(values)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asks_once()
    assert set(multiprocessing.active_children()) <= before


PARENT = """
import os, signal, sys
from bestbefore.replay.sweeps.parallel import parallel_map

def hang(argument):
    os.write(1, b"%d\\n" % os.getpid())  # at once: print may write the end of the line by itself
    signal.pause()

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with parallel_map(hang, [1, 2], 2) as values:
        list(values)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_processes_end_with_their_parent(
    tmp_path: Path, sent: signal.Signals, start_process: Callable[..., subprocess.Popen[str]]
) -> None:
    """The pipe on which they print is at its end once none of them is left."""
    (tmp_path / "parent.py").write_text(PARENT)
    parent = start_process(
        [sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    workers = {int(parent.stdout.readline()), int(parent.stdout.readline())}
    assert len(workers) == 2
    parent.send_signal(sent)
    assert parent.communicate(timeout=60)[0] == ""
    assert parent.returncode != 0
