"""Hosts for which a client refuses the proxy's certificate: their connections are tunnelled for that client."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from bestbefore.addon.rules import HostPattern
from bestbefore.policies.units import HOUR_S

REFUSALS_UNTIL_TUNNELLED = 2
TUNNELLED_S = HOUR_S
MAX_ADDRESSES = 4096
MAX_OF_ADDRESS = 256
"""The most refusals remembered of one address, so that one client takes no room from others."""
MAX_TRUSTING = 10_000


class ClientKey(NamedTuple):
    """One program of one client, as far as it can be distinguished."""

    address: str
    user: str
    """Its user of the proxy; empty without credentials."""
    program: str
    """The fingerprint of its ClientHello."""


@dataclass(slots=True)
class RefusedHost:
    """A host for which one client has refused handshakes."""

    client: ClientKey
    host: str
    since_s: float
    """Monotonic, as `until_s`."""
    until_s: float = 0.0
    count: int = 0
    reason: str = ""
    """How the last handshake failed."""


class RefusedHandshake(NamedTuple):
    """A handshake that a client has refused."""

    client: ClientKey
    host: str
    reason: str
    now_s: float
    """Monotonic: one clock for all processes of a machine."""


class AcceptedCertificate(NamedTuple):
    """A certificate that a client has accepted, where that is news."""

    client: ClientKey
    host: str


class LiftedTunnels(NamedTuple):
    """The end of the tunnels to hosts that match, of one address or of all."""

    pattern: HostPattern
    address: str | None


type TunnelAnnouncement = RefusedHandshake | AcceptedCertificate | LiftedTunnels
TUNNEL_ANNOUNCEMENTS: tuple[type[TunnelAnnouncement], ...] = (RefusedHandshake, AcceptedCertificate, LiftedTunnels)


class Refusals:
    """Counts refused TLS handshakes for each client and host; bounded, and forgotten after an hour."""

    def __init__(self, pass_on: Callable[[TunnelAnnouncement], object] = lambda _: None) -> None:
        """`pass_on` is called with what other workers must know too, which they `receive`."""
        self._pass_on = pass_on
        self._of_address: LRUCache[str, dict[tuple[ClientKey, str], RefusedHost]] = LRUCache(MAX_ADDRESSES)
        self._trusting: LRUCache[ClientKey, bool] = LRUCache(MAX_TRUSTING)
        """Clients that have accepted the proxy's certificate for some host."""
        self.version = 0
        """Changes with what is tunnelled, but for the end of an hour."""

    def refused(self, client: ClientKey, host: str, reason: str, now_s: float) -> bool:
        """Count a refusal; True if the host is tunnelled from this refusal on. `now_s` is monotonic."""
        self._pass_on(RefusedHandshake(client, host, reason, now_s))
        return self._refused(client, host, reason, now_s)

    def _refused(self, client: ClientKey, host: str, reason: str, now_s: float) -> bool:
        known = self._of_address.setdefault(client.address, {})
        found = self._current(client, host, now_s)
        if found is None:
            if len(known) >= MAX_OF_ADDRESS:
                del known[next(iter(known))]
            found = known[client, host] = RefusedHost(client, host, now_s)
        found.count, found.reason, found.until_s = found.count + 1, reason, now_s + TUNNELLED_S
        if found.count != REFUSALS_UNTIL_TUNNELLED:
            return False
        self.version += 1
        return True

    def accepted(self, client: ClientKey, host: str) -> int:
        """Note that a client has accepted the certificate for a host; return how many tunnels that lifts.

        The first time for any host shows that the client has come to trust the proxy, so all its tunnels are lifted.
        Later such times say nothing of other hosts: a program may insist on the certificates of some.
        """
        if client in self._trusting and (client, host) not in self._of_address.get(client.address, ()):
            self._trusting[client] = True  # it stays among those remembered
            return 0
        self._pass_on(AcceptedCertificate(client, host))
        return self._accepted(client, host)

    def _accepted(self, client: ClientKey, host: str) -> int:
        is_first = client not in self._trusting
        self._trusting[client] = True
        known = self._of_address.get(client.address, ())
        return self._remove([key for key in known if key[0] == client and (is_first or key[1] == host)])

    def tunnelled(self, client: ClientKey, host: str, now_s: float) -> bool:
        """Whether this client's connections to this host are tunnelled."""
        found = self._current(client, host, now_s)
        return found is not None and found.count >= REFUSALS_UNTIL_TUNNELLED

    def current(self, now_s: float) -> Iterator[RefusedHost]:
        """Yield what is tunnelled."""
        for known in self._of_address.values():
            for found in known.values():
                if found.until_s > now_s and found.count >= REFUSALS_UNTIL_TUNNELLED:
                    yield found

    def lift(self, pattern: HostPattern, address: str | None) -> int:
        """End the tunnels to hosts that match, of one address or of all; return how many there were."""
        self._pass_on(LiftedTunnels(pattern, address))
        return self._lift(pattern, address)

    def receive(self, announcement: TunnelAnnouncement) -> None:
        """Apply what another worker has passed on."""
        match announcement:
            case RefusedHandshake():
                self._refused(*announcement)
            case AcceptedCertificate():
                self._accepted(*announcement)
            case LiftedTunnels():
                self._lift(*announcement)

    def _lift(self, pattern: HostPattern, address: str | None) -> int:
        return self._remove(
            [
                key
                for known in self._of_address.values()
                for key in known
                if pattern.matches(key[1]) and address in (None, key[0].address)
            ]
        )

    def _current(self, client: ClientKey, host: str, now_s: float) -> RefusedHost | None:
        known = self._of_address.get(client.address, {})
        found = known.get((client, host))
        if found is not None and found.until_s <= now_s:
            del known[client, host]
            return None
        return found

    def _remove(self, keys: list[tuple[ClientKey, str]]) -> int:
        if not keys:
            return 0
        removed = [self._of_address[client.address].pop((client, host)) for client, host in keys]
        self.version += 1
        return sum(one.count >= REFUSALS_UNTIL_TUNNELLED for one in removed)
