"""A process that has imported what the proxy needs, and from which each proxy is forked.

Imports are nine tenths of the processor time that a proxy takes to start. All else is as in a process of its own: its
arguments, its surroundings, its output, its signals and its exit status.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

NEEDED = (
    "bestbefore.addon.cli",
    "bestbefore.addon.commands.export",
    "bestbefore.addon.commands.forget",
    "bestbefore.addon.commands.proxy",
    "bestbefore.addon.commands.purge",
    "bestbefore.addon.commands.show",
    "bestbefore.addon.dashboard.companion",
    "bestbefore.addon.prefetcher.prefetcher",
    "bestbefore.addon.proxy.mitm.master",
    "bestbefore.addon.proxy.service",
)


PATIENCE_S = 150.0
"""For commands that are to end."""


class Forked:
    """A process that was forked; it is used as a `subprocess.Popen`."""

    def __init__(self, replies: int, stdout: IO[str]) -> None:
        """`replies`: the pipe on which its process id comes and, after its end, its exit status."""
        self._replies = os.fdopen(replies)
        self.stdout = stdout
        self.pid = int(self._replies.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._replies], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._replies.readline())
            self._replies.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Preloaded:
    """The process that forks."""

    def __init__(self) -> None:
        self._asks, asked = socket.socketpair()
        with asked:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(asked.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[asked.fileno()],
                # A fork has one thread, and no proxy computes with BLAS.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        self._lock = threading.Lock()

    def start(self, arguments: Sequence[str], env: Mapping[str, str]) -> Forked:
        """Run `bestbefore` with these arguments; what it says on either stream is its `stdout`."""
        said, says = os.pipe()
        told, tells = os.pipe()
        asked = json.dumps({"arguments": list(arguments), "env": dict(env), "cwd": str(Path.cwd())}) + "\n"
        with self._lock:
            sent = socket.send_fds(self._asks, [asked.encode()], [says, tells])
            self._asks.sendall(asked.encode()[sent:])
        os.close(says)
        os.close(tells)
        return Forked(told, os.fdopen(said))

    def run(self, *arguments: object, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """The status of such a command, and all that it says. It is killed if it does not end."""
        process = self.start([str(argument) for argument in arguments], {**os.environ, **(env or {})})
        ending = threading.Timer(PATIENCE_S, process.kill)
        ending.daemon = True
        ending.start()
        with process.stdout as stdout:
            said = stdout.read()
        ending.cancel()
        return process.wait(), said

    def stop(self) -> None:
        self._asks.close()
        self._process.wait()


def _fork(asks: socket.socket) -> list[str]:
    """Fork for each request that comes, and return in each child what it is to run.

    Between the two there is a process that waits for the child and tells its status.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(asks, 1 << 16, 2)
        while data and not data.endswith(b"\n"):
            data += asks.recv(1 << 16)
        with suppress(ChildProcessError):  # those that wait, too, are waited for: their processor time is ours
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not data:
            sys.exit()
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    says, tells = fds
    asks.close()
    pid = os.fork()
    if pid:
        os.close(says)
        os.write(tells, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # nobody asks any more
            os.write(tells, b"%d\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    os.close(tells)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (1, 2):
        os.dup2(says, stream)
    os.close(says)
    asked = json.loads(data)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    arguments: list[str] = asked["arguments"]
    return arguments


if __name__ == "__main__":
    for module in NEEDED:
        importlib.import_module(module)
    gc.freeze()  # so that the collector of a fork need not look at all of that, and copy its pages
    sys.argv = ["bestbefore", *_fork(socket.socket(fileno=int(sys.argv[1])))]
    from bestbefore.addon.start import main

    main()
