"""Hosts for which a client refuses the proxy's certificate: their connections are tunnelled for that client."""

from cachetools import TTLCache

from bestbefore.policies.units import HOUR_S

REFUSALS_UNTIL_TUNNELLED = 2
TUNNELLED_S = HOUR_S
MAX_PAIRS = 10_000


class Refusals:
    """Counts refused TLS handshakes for each client and host; bounded, and forgotten after an hour."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._counts: TTLCache[tuple[str, str], int] = TTLCache(MAX_PAIRS, TUNNELLED_S, timer=lambda: self._now_s)

    def refused(self, client: str, host: str, now_s: float) -> bool:
        """Count a refusal; True if the host is tunnelled from this refusal on. `now_s` is monotonic."""
        self._now_s = now_s
        count = self._counts.get((client, host), 0) + 1
        self._counts[client, host] = count
        return count == REFUSALS_UNTIL_TUNNELLED

    def tunnelled(self, client: str, host: str, now_s: float) -> bool:
        """Whether this client's connections to this host are tunnelled."""
        self._now_s = now_s
        return self._counts.get((client, host), 0) >= REFUSALS_UNTIL_TUNNELLED
