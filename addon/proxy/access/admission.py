"""The admission of connections and requests: not more than there are file descriptors for."""

from collections.abc import Awaitable, Callable

from mitmproxy.connection import Client

from bestbefore.addon.proxy.access.descriptors import SMALLEST, Descriptors
from bestbefore.addon.proxy.access.shortage import CONNECTIONS, EXCHANGES, TUNNELS, Shortage
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.content import PIECE_BYTES
from bestbefore.addon.proxy.mitm import transports

LOOK_EVERY_S = 0.1
"""How often an idle connection is looked for, to be closed in favour of a new one."""
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\n\r\n%s"
)
_TEXT = b"bestbefore: too many connections\n"


class Admission:
    """Counts, and refuses what is too much."""

    def __init__(
        self, limit: int, in_flight_bytes: int, now: Callable[[], float], count: Callable[[str], None] = lambda _: None
    ) -> None:
        """`limit`: the descriptors that the process may have. `in_flight_bytes`: of its `budget.Budget`.

        `now`: the monotonic clock. `count`: for the metric.
        """
        self.descriptors = Descriptors.of(limit)
        self.exchanges_at_most = min(self.descriptors.exchanges, max(SMALLEST, in_flight_bytes // PIECE_BYTES))
        """Each has a piece of its content in memory at least."""
        self.shortage = Shortage(limit, now, count)
        self.exchanges = 0
        """Under way."""
        self.tunnels = 0
        """Connections that mitmproxy has opened, or is about to."""
        self._now = now
        self._looked_s = -LOOK_EVERY_S

    def refuses(self, client: Client) -> bool:
        """Return whether a client that has just connected is one too many; it then gets an error and is disconnected.

        One that has been idle for a while is closed in its favour, if there is any.
        """
        if transports.client_count() <= self.descriptors.clients:
            return False
        now_s = self._now()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            if transports.close_idle():
                return False
        self.shortage.refused(CONNECTIONS)
        transports.send(client, REFUSAL % (len(_TEXT), _TEXT))
        return True

    def begins(self) -> bool:
        """Whether one more request may be answered; if so, `ends` is to be called once."""
        if self.exchanges >= self.exchanges_at_most:
            self.shortage.refused(EXCHANGES)
            return False
        self.exchanges += 1
        return True

    def ends(self) -> None:
        """A request was answered, or cannot be."""
        self.exchanges -= 1

    async def until_sent(self, answering: Awaitable[Answer]) -> Answer:
        """An answer, at whose end the request ends."""
        try:
            answer = await answering
        except BaseException:
            self.ends()
            raise
        answer.release.append(self.ends)
        return answer

    def opens(self) -> bool:
        """Whether mitmproxy may open one more connection to an origin; `closed` is to be called once in any case."""
        self.tunnels += 1
        if self.tunnels > self.descriptors.tunnels:
            self.shortage.refused(TUNNELS)
            return False
        return True

    def closed(self) -> None:
        """A connection that mitmproxy opened, or tried to, is closed."""
        self.tunnels -= 1
