"""The ranges of addresses a contact may lead to, judged by the address that is connected to.

What is public is in no range, and may always be reached. Everything else is in one: this machine itself, the link, or a
network that has the same addresses wherever it is.
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
"""Addresses that are for no host of the Internet: documentation, benchmarks, multicast, what is reserved."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

RANGES = frozenset((LOOPBACK, LINK_LOCAL, OTHER, *map(str, _NETWORKS)))


@lru_cache(maxsize=65_536)
def range_of(host: str) -> str:
    """The range of an address, or of a name that only this machine resolves; empty for what is public, or any name."""
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
    """The IPv4 address to which a gateway would pass on what is sent to this one (RFC 3056, RFC 6052)."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.sixtofour


@dataclass(frozen=True, slots=True)
class Reach:
    """The ranges that may be reached, beside what is public."""

    ranges: frozenset[str]

    def allows(self, host: str) -> bool:
        """Whether an address may be connected to; of a name that is not resolved yet, whether to go on."""
        name = range_of(host)
        return not name or name in self.ranges


EVERYWHERE = Reach(RANGES)
BEYOND_THIS_MACHINE = Reach(RANGES - {LOOPBACK, LINK_LOCAL})
"""For clients of other machines."""
PUBLIC = Reach(frozenset())
