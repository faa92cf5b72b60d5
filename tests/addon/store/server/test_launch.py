"""The launcher runs its program for as long as its parent lives, and not for another one."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from bestbefore.addon.store.server import launch

LAUNCH = [sys.executable, "-I", "-S", launch.__file__]


def test_it_becomes_the_program():
    answer = subprocess.run([*LAUNCH, str(os.getpid()), "/bin/echo", "a b", "-c"], stdout=subprocess.PIPE, check=True)
    assert answer.stdout == b"a b -c\n"


def test_it_runs_nothing_for_a_parent_that_is_no_longer_its_own():
    answer = subprocess.run([*LAUNCH, "1", "/bin/echo", "no"], stdout=subprocess.PIPE, check=False)
    assert (answer.returncode, answer.stdout) == (1, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
def test_the_program_ends_when_its_parent_is_killed(start_process):
    parent = start_process(
        [
            sys.executable,
            "-c",
            "import os, signal, subprocess, sys\n"
            "child = subprocess.Popen([*sys.argv[1:], str(os.getpid()), '/bin/sh', '-c', 'echo up; exec sleep 60'],"
            " stdout=subprocess.PIPE)\n"
            "child.stdout.readline()\n"
            "print(child.pid, flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)",
            *LAUNCH,
        ],
        stdout=subprocess.PIPE,
    )
    pid = int(parent.stdout.readline())
    assert parent.wait() == -signal.SIGKILL
    end = time.monotonic() + 60.0
    with suppress(ProcessLookupError):
        while time.monotonic() < end:  # it is init's child now, and cannot be waited for
            os.kill(pid, 0)
            time.sleep(0.005)
        pytest.fail("it goes on")
