"""Clients whose address may not use the proxy: each connection is refused, and one line a minute says so."""

import logging
from collections.abc import Callable

from bestbefore.addon.proxy.access.access import Access, StatedAddress, address_of

logger = logging.getLogger(__name__)

LOG_EVERY_S = 60.0


class Unadmitted:
    """Logs refusals. The client sees only that its connection is closed, or a balancer's 502."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: the monotonic clock."""
        self._now = now
        self._logged_s: float | None = None
        self._unlogged = 0

    def refused(self, address: str, access: Access) -> str:
        """Return why a client with this address is refused, and log it unless a line is less than a minute old."""
        now_s = self._now()
        if self._logged_s is not None and now_s - self._logged_s < LOG_EVERY_S:
            self._unlogged += 1
        else:
            others = f"; {self._unlogged} more since the last such line" if self._unlogged else ""
            logger.warning("%s is refused: %s%s", address, _reason(address, access), others)
            self._logged_s, self._unlogged = now_s, 0
        return f"{address} is not in allow_clients"


def _reason(address: str, access: Access) -> str:
    reason = "it is not in allow_clients" + (", which is not set" if access.allow_clients is None else "")
    parsed = address_of(address)
    if isinstance(address, StatedAddress) and parsed is not None and parsed.is_loopback:
        reason += " (a balancer in proxy_protocol_from states it, so that it is not taken for this machine)"
    return reason
