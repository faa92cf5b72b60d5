"""The ranges of addresses to which a contact may connect.

A public address is in no range, and may always be reached. Every other address is in one: loopback, link-local, or a
private network.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from bestbefore.addon.proxy.access.access import address_of, is_local

LOOPBACK = "loopback"
LINK_LOCAL = "link-local"
_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10")
)
OTHER = "other"
"""Addresses that no Internet host has: for documentation, benchmarks, multicast, or reserved."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

RANGES = frozenset((LOOPBACK, LINK_LOCAL, OTHER, *map(str, _NETWORKS)))


@lru_cache(maxsize=65_536)
def range_of(host: str) -> str:
    """Return the range of an address, or of a name such as localhost; empty for a public address or another name."""
    address = address_of(host)
    if address is None:
        return LOOPBACK if is_local(host) else ""
    if isinstance(address, ipaddress.IPv6Address):
        address = _embedded(address) or address
    if address.is_loopback or address.is_unspecified:
        return LOOPBACK
    if address.is_link_local:
        return LINK_LOCAL
    for network in _NETWORKS:
        if address.version == network.version and address in network:
            return str(network)
    return "" if address.is_global and not address.is_multicast else OTHER


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which a gateway forwards packets for this address (RFC 3056, RFC 6052)."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.sixtofour


@dataclass(frozen=True, slots=True)
class Reach:
    """The ranges that may be reached, besides public addresses."""

    ranges: frozenset[str]

    def allows(self, host: str) -> bool:
        """Whether connecting to an address is allowed; True for a name, which is checked again when resolved."""
        name = range_of(host)
        return not name or name in self.ranges


EVERYWHERE = Reach(RANGES)
BEYOND_THIS_MACHINE = Reach(RANGES - {LOOPBACK, LINK_LOCAL})
"""For remote clients."""
PUBLIC = Reach(frozenset())
