"""Start a program that does not outlive the process that starts it: `launch.py PARENT PROGRAM ARGUMENT...`.

Run as a script, by an interpreter of its own: what happens between fork and exec must not happen in a process with
threads. On Linux the kernel then sends SIGTERM when the *thread* that started us ends; the program must not change its
user. Elsewhere there is no such thing, and the next start finds what was left.
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
    if os.getppid() != int(parent):  # it ended before we asked
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()
