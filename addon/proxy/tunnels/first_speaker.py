"""How long a client may be silent in a tunnel before its origin is contacted, which may speak first."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cachetools import LRUCache

WEB_PORTS = frozenset({80, 443, 8080, 8443})
WEB_SILENCE_S = 1.0
"""The time on a web port. Browsers open tunnels in advance."""
KNOWN_SILENCE_S = 0.1
"""The time on another port where the client spoke first last time, and may be answered without the origin again."""
SERVERS_REMEMBERED = 4096


class Expected(NamedTuple):
    """What is expected of a tunnel that opens."""

    silence_s: float | None
    """How long the client may be silent before the origin is contacted; 0: not at all; None: forever."""
    is_passthrough: bool = False
    """Whether it is known before any data that nothing in the tunnel is intercepted."""
    note_first: Callable[[bool], object] = lambda _: None
    """To be called with whether the client spoke first."""


class FirstSpeakers:
    """Who spoke first in the last tunnel to a server that has no web port."""

    def __init__(self) -> None:
        self._by_client: LRUCache[tuple[str, int], None] = LRUCache(SERVERS_REMEMBERED)
        """The servers to which the client spoke first, by name and port."""

    def expected(self, host: str, port: int) -> Expected:
        """Return what is expected of a tunnel to a server, by the last one."""
        if port in WEB_PORTS:
            return Expected(WEB_SILENCE_S)
        server = host.lower(), port
        return Expected(KNOWN_SILENCE_S if server in self._by_client else 0.0, note_first=partial(self._note, server))

    def _note(self, server: tuple[str, int], by_client: bool) -> None:
        if by_client:
            self._by_client[server] = None
        else:
            self._by_client.pop(server, None)
