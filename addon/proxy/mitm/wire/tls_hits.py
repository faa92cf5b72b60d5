"""Requests within TLS, answered at the socket: data is decrypted before mitmproxy's layers get it."""

from collections.abc import Callable, Sequence

from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.tls import ClientTLSLayer

from bestbefore.addon.proxy.mitm.client_tls import EndingClientTLS
from bestbefore.addon.proxy.mitm.wire.internals import are_unpaused
from bestbefore.addon.proxy.mitm.wire.written import HitAnswerer, Written


class TlsHits:
    """Answers the requests at the beginning of a connection's data, if nothing that came before it waits.

    What is not answered is passed on by `EndingClientTLS`, which gets the same data again.
    """

    def __init__(
        self, tls: EndingClientTLS, layers: Sequence[Layer], is_ready: Callable[[], bool], answer: HitAnswerer
    ) -> None:
        """`layers`: all through which data passes. `is_ready`: whether the next data may be answered at once.

        `answer` answers no request that closes the connection.
        """
        self._tls = tls
        self._layers = layers
        self._is_ready = is_ready
        self._answer = answer

    def answer(self, data: bytes) -> Written | None:
        """Answer requests in encrypted data; None if the first is not answered so."""
        tls = self._tls
        if not (tls.is_idle and self._is_ready() and are_unpaused(self._layers)):
            return None
        written = self._answer(tls.decrypt(data))
        if written is None:
            return None
        end = len(data) if tls.answered(written.end) else 0
        return Written(tls.encrypt(written.response), end, closes=False, finish=written.finish)


def tls_of(layers: Sequence[Layer]) -> EndingClientTLS | None:
    """Return the layer for the TLS of a client; None if there is none, or another within it."""
    of_client = [layer for layer in layers if isinstance(layer, ClientTLSLayer)]
    return of_client[0] if len(of_client) == 1 and isinstance(of_client[0], EndingClientTLS) else None
