"""Lets mitmproxy accept connections from sockets that the process was given, which others accept from too.

All processes wait on the same sockets. So a connection goes to one that is free to take it, and those that wait when a
process ends are taken by the others; with a socket for each process (SO_REUSEPORT) the kernel would reset them.
"""

import asyncio
import os
import socket
from collections.abc import MutableMapping, Sequence

from mitmproxy.proxy.mode_servers import AsyncioServerInstance

ACCEPTED_AT_ONCE = 1
"""How many further connections a process takes before others have a turn."""
WAITING_CONNECTIONS = 1024
"""How many connections may wait to be accepted."""


FIRST_PASSED = 3
"""The descriptor of the first socket that a service manager passes on (sd_listen_fds)."""


def passed_sockets(environ: MutableMapping[str, str]) -> list[socket.socket]:
    """Return the listening sockets that systemd or another service manager has passed to this process; else none.

    The variables that say so are removed, since they do not hold for what this process starts. Raises ValueError for
    other sockets than those of TCP.
    """
    is_ours = environ.pop("LISTEN_PID", "") == str(os.getpid())
    number = environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if not is_ours or not number.isdigit():
        return []
    sockets = []
    for descriptor in range(FIRST_PASSED, FIRST_PASSED + int(number)):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no keyword
        one = socket.socket(fileno=descriptor)
        listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM or not listens:
            raise ValueError("the service manager passes a socket that is not TCP and listening: see its ListenStream")
        one.settimeout(0.0)
        sockets.append(one)
    return sockets


def accept_from(sockets: Sequence[socket.socket]) -> None:
    """Let the servers that mitmproxy starts in this process accept from these listening sockets."""

    async def listen(self: AsyncioServerInstance, host: str, port: int) -> list[asyncio.Server]:  # type: ignore[type-arg]  # noqa: ARG001
        servers = []
        for one in sockets:
            servers.append(await asyncio.start_server(self.handle_stream, sock=one, backlog=ACCEPTED_AT_ONCE))
            one.listen(WAITING_CONNECTIONS)  # `backlog` was the length of the kernel's queue, too
        return servers

    AsyncioServerInstance.listen = listen  # type: ignore[method-assign,assignment]


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for all addresses of a host, with one port, which 0 lets the system choose.

    Raises OSError.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            sockets.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address[0], port, *address[2:]))
            port = one.getsockname()[1]
            one.listen(WAITING_CONNECTIONS)
            one.settimeout(0.0)
    except OSError:
        for one in sockets:
            one.close()
        raise
    return sockets
