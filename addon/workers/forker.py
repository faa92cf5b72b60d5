"""Processes of one thread that have imported what workers need, and fork them.

A supervisor has an event loop, and possibly threads, which a fork would copy in an unknown state. Workers that are
forked share the memory of the imported modules, and start in a tenth of the time.
"""

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

logger = logging.getLogger(__name__)

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A terminal or service manager sends these to all processes; the supervisor, which gets them too, decides."""
_FORKERS = 2
"""One forks the workers; the other takes its place if it is killed."""
_WORKER, _FORKER = b"w", b"f"
"""What is to be forked."""


class ForkersLostError(Exception):
    """No process is left that could fork a worker."""


class Forker:
    """The supervisor's side. It must be started before any thread, and before an event loop."""

    def __init__(self, run: Callable[[socket.socket], object]) -> None:
        """`run` is called in each worker with its end of a socket pair; the process ends when it returns."""
        self._sockets: list[socket.socket] = []
        self._children: list[int] = []
        for _ in range(_FORKERS):
            ours, theirs = socket.socketpair()
            child = os.fork()
            if child == 0:
                for one in (ours, *self._sockets):
                    one.close()
                _serve(theirs, run)
            theirs.close()
            self._sockets.append(ours)
            self._children.append(child)

    def fork(self) -> socket.socket:
        """Fork a worker; return our end of its socket pair. Raises ForkersLostError, OSError."""
        return self._fork(_WORKER)

    def replace_ended(self) -> None:
        """Let the other process take the place of one that has ended. Raises ForkersLostError, OSError."""
        for one in [one for one in self._sockets if _is_closed(one)]:
            self._sockets.remove(one)
            one.close()
        for child in list(self._children):
            with suppress(ChildProcessError):
                if os.waitpid(child, os.WNOHANG)[0]:
                    self._children.remove(child)
        while len(self._sockets) < _FORKERS:
            self._sockets.append(self._fork(_FORKER))
            logger.warning("a process that forks workers has ended; another takes its place")

    def _fork(self, kind: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            for one in self._sockets:
                with suppress(ConnectionError):
                    socket.send_fds(one, [kind], [theirs.fileno()])
                    return ours
        ours.close()
        raise ForkersLostError("both processes that fork workers have ended, at once: start the proxy again")

    def close(self) -> None:
        """End the processes that fork. The workers remain."""
        for one in self._sockets:
            one.close()


def _is_closed(one: socket.socket) -> bool:
    try:
        return not one.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def _serve(asks: socket.socket, run: Callable[[socket.socket], object]) -> NoReturn:
    """Fork a process for each socket that is received, until the supervisor ends."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that ended workers leave nothing
    gc.freeze()  # else the collector of each worker would copy the pages of all that was imported
    while True:
        kind, fds, _, _ = socket.recv_fds(asks, 1, 1)
        if not fds:
            os._exit(0)
        try:
            child = os.fork()
        except OSError:  # too many processes, or too little memory: the supervisor sees it end, and asks again
            child = -1
        if child == 0:
            asks.close()
            end = socket.socket(fileno=fds[0])
            if kind == _FORKER:
                _serve(end, run)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            status = 1
            try:
                run(end)
                status = 0
            finally:
                os._exit(status)
        os.close(fds[0])
