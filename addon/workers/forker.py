"""A process of one thread that has imported what workers need, and forks them.

A supervisor has an event loop, and possibly threads, which a fork would copy in an unknown state. Workers that are
forked share the memory of the imported modules, and start in a tenth of the time.
"""

import gc
import os
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A terminal or service manager sends these to all processes; the supervisor, which gets them too, decides."""


class Forker:
    """The supervisor's side. It must be started before any thread, and before an event loop."""

    def __init__(self, run: Callable[[socket.socket], object]) -> None:
        """`run` is called in each worker with its end of a socket pair; the process ends when it returns."""
        self._socket, theirs = socket.socketpair()
        if os.fork() == 0:
            self._socket.close()
            _serve(theirs, run)
        theirs.close()

    def fork(self) -> socket.socket:
        """Fork a worker; return our end of its socket pair. Raises OSError if the forking process has ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._socket, [b"\n"], [theirs.fileno()])
        return ours

    def close(self) -> None:
        """End the process that forks. The workers remain."""
        self._socket.close()


def _serve(asks: socket.socket, run: Callable[[socket.socket], object]) -> NoReturn:
    """Fork a worker for each socket that is received, until the supervisor ends."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that ended workers leave nothing
    gc.freeze()  # else the collector of each worker would copy the pages of all that was imported
    while True:
        _, fds, _, _ = socket.recv_fds(asks, 1, 1)
        if not fds:
            os._exit(0)
        if os.fork() == 0:
            asks.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            status = 1
            try:
                run(socket.socket(fileno=fds[0]))
                status = 0
            finally:
                os._exit(status)
        os.close(fds[0])
