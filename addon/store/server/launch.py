"""Run a program that ends with its parent process: `launch.py PARENT PROGRAM ARGUMENT...`.

Runs as a script in an interpreter of its own, because running code between fork and exec is unsafe in a process with
threads. On Linux the kernel sends SIGTERM when the *thread* that started this script ends; the program must not change
its user. Other systems have no such mechanism; there the next start finds the leftover program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before prctl was called
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()
