"""Whether the TLS of a client's tunnel is intercepted, by what became of its handshakes before."""

import logging
from typing import NamedTuple

from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.proxy.tunnels.refusals import ClientKey, Refusals

logger = logging.getLogger(__name__)


class _Handshake(NamedTuple):
    client: ClientKey
    host: str


class Interception:
    """The handshakes with clients in progress, and what they show."""

    def __init__(self, refusals: Refusals, metrics: Metrics, clock: Clock) -> None:
        self._refusals = refusals
        self._metrics = metrics
        self._clock = clock
        self._handshakes: dict[str, _Handshake] = {}
        """By the id of the connection, until the client has sent a request, failed or disconnected."""
        metrics.tunnelled_pairs.set_function(lambda: sum(1 for _ in refusals.current(clock.monotonic())))

    def is_tunnelled(self, connection_id: str, client: ClientKey, host: str) -> bool:
        """Whether a connection that begins is tunnelled; if not, a handshake with the proxy's certificate follows."""
        if self._refusals.tunnelled(client, host, self._clock.monotonic()):
            self._metrics.client_handshakes.labels("tunnelled").inc()
            return True
        self._handshakes[connection_id] = _Handshake(client, host)
        return False

    def failed(self, connection_id: str, error: str) -> None:
        """Note that a handshake has failed."""
        handshake = self._handshakes.pop(connection_id, None)
        if handshake is None:
            return
        self._metrics.client_handshakes.labels("failed").inc()
        client, host = handshake
        if self._refusals.refused(client, host, reason_of(error), self._clock.monotonic()):
            self._metrics.tunnelled_hosts.inc()
            logger.warning(
                "%s refuses our certificate for %s: tunnelled for this client for an hour, uncached "
                "(`bestbefore tunnels` lists and lifts this)",
                client.address,
                host,
            )

    def accepted(self, connection_id: str) -> None:
        """Note that the client has sent something after the handshake, and so has accepted the certificate."""
        handshake = self._handshakes.pop(connection_id, None)
        if handshake is None:
            return
        self._metrics.client_handshakes.labels("accepted").inc()
        lifted = self._refusals.accepted(*handshake)
        if lifted:
            self._metrics.tunnels_lifted.labels("handshake").inc(lifted)
            logger.info("%s accepts our certificates now: it is tunnelled no more", handshake.client.address)

    def closed(self, connection_id: str) -> None:
        """Forget a connection."""
        self._handshakes.pop(connection_id, None)


def reason_of(error: str) -> str:
    """Return why a handshake failed, from mitmproxy's message."""
    if "unknown ca" in error:
        return "it does not know the proxy's certificate authority"
    if "bad certificate" in error or "certificate unknown" in error:
        return "it does not accept the proxy's certificate"
    if "unsupported protocol" in error:
        return "it speaks only old versions of TLS"
    if "after the handshake" in error:
        return "it ended TLS after the handshake"
    if "closed" in error or "disconnected" in error:
        return "it closed the connection during the handshake"
    return "the handshake failed"
