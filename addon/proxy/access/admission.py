"""Admission control: bounds on connections and requests, by the number of file descriptors."""

from collections.abc import Awaitable, Callable

from mitmproxy.connection import Client

from bestbefore.addon.proxy.access.descriptors import MIN_PART, part_of
from bestbefore.addon.proxy.access.shortage import CONNECTIONS, EXCHANGES, TUNNELS, Shortage
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.content import PIECE_BYTES
from bestbefore.addon.proxy.mitm import transports

IDLE_CHECK_INTERVAL_S = 0.1
"""The shortest time between two searches for an idle connection to close in favour of a new one."""
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\n\r\n%s"
)
_TEXT = b"bestbefore: too many connections\n"


class Admission:
    """Counts connections and requests, and refuses those beyond the bounds."""

    def __init__(
        self, limit: int, in_flight_bytes: int, now: Callable[[], float], count: Callable[[str], None] = lambda _: None
    ) -> None:
        """`limit`: how many descriptors the process may open. `in_flight_bytes`: the memory of its `budget.Budget`.

        `now`: the monotonic clock. `count` is called with the resource of each refusal, for the metric.
        """
        self.descriptors = part_of(limit)
        """How many file descriptors each use may take."""
        self.max_exchanges = min(self.descriptors, max(MIN_PART, in_flight_bytes // PIECE_BYTES))
        """The most requests in progress: each has at least one piece of its content in memory."""
        self.shortage = Shortage(limit, now, count)
        self.exchanges = 0
        """Requests in progress."""
        self.tunnels = 0
        """Connections to origins that mitmproxy has opened or is opening."""
        self._now = now
        self._idle_checked_at_s = -IDLE_CHECK_INTERVAL_S

    def refuses(self, client: Client) -> bool:
        """Whether a new client exceeds the bound; it is then sent an error and must be disconnected.

        If possible, an idle connection is closed in its favour.
        """
        if transports.client_count() <= self.descriptors:
            return False
        now_s = self._now()
        if now_s - self._idle_checked_at_s >= IDLE_CHECK_INTERVAL_S:
            self._idle_checked_at_s = now_s
            if transports.close_idle():
                return False
        self.shortage.refused(CONNECTIONS)
        transports.send(client, REFUSAL % (len(_TEXT), _TEXT))
        return True

    def begin_request(self) -> bool:
        """Admit a request, if there is room for one more. If so, `end_request` must be called once."""
        if self.exchanges >= self.max_exchanges:
            self.shortage.refused(EXCHANGES)
            return False
        self.exchanges += 1
        return True

    def end_request(self) -> None:
        """Count the end of a request, answered or failed."""
        self.exchanges -= 1

    async def end_when_sent(self, answering: Awaitable[Answer]) -> Answer:
        """Await an answer; call `end_request` when it has been sent or has failed."""
        try:
            answer = await answering
        except BaseException:
            self.end_request()
            raise
        answer.release.append(self.end_request)
        return answer

    def reserve_connection(self) -> bool:
        """Whether mitmproxy may open one more connection to an origin. `release_connection` must follow in any case."""
        self.tunnels += 1
        if self.tunnels > self.descriptors:
            self.shortage.refused(TUNNELS)
            return False
        return True

    def release_connection(self) -> None:
        """Count the end of a connection that mitmproxy opened or failed to open."""
        self.tunnels -= 1
