"""Access control: which clients may use the proxy, and for what.

Loopback clients may do everything, and only they may PURGE. Other clients need an address in `allow_clients` or, if
`credentials` names a file, a user and password. They may not reach loopback or link-local targets, and may open tunnels
only to `connect_ports`. Clients whose address a load balancer states are never taken for loopback clients.
"""

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mitmproxy.connection import Client
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.rfc9111.message import Fields

type Network = ipaddress.IPv4Network | ipaddress.IPv6Network
type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REALM = 'Basic realm="bestbefore"'

_OF_PAGES_AND_PROXIES = ("origin", "sec-fetch-", "via", "forwarded", "x-forwarded-")


@lru_cache(maxsize=4096)
def address_of(text: str) -> Address | None:
    """Parse an IP address, without its zone; an IPv4-mapped IPv6 address gives the IPv4 address. None for a name.

    Also parses forms that only the system takes for an address, such as `127.1` and `0x7f000001`.
    """
    bare = text.strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(bare))
        except OSError:
            return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


class StatedAddress(str):
    """The address of a client as a load balancer states it. It is not loopback, whatever it is.

    A loopback address is one of the balancer's machine, or of that of another balancer before it: what connects from
    there has no rights on this machine.
    """

    __slots__ = ()


def is_loopback(text: str) -> bool:
    """Whether text is a loopback address, and no balancer states it."""
    return not isinstance(text, StatedAddress) and _is_loopback(text)


@lru_cache(maxsize=4096)
def _is_loopback(text: str) -> bool:
    address = address_of(text)
    return address is not None and address.is_loopback


def is_within(address: Address, networks: Iterable[Network]) -> bool:
    """Whether an address lies in one of the networks."""
    return any(address in network for network in networks if network.version == address.version)


def is_local(text: str) -> bool:
    """Whether an address or name is of this machine: loopback, link-local, unspecified, or localhost."""
    address = address_of(text)
    if address is None:
        name = text.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_link_local or address.is_unspecified


def peer_of(client: Client) -> str:
    """Return the address of a client as text; empty if unknown."""
    return client.peername[0] if client.peername else ""


def is_restricted(client: Client) -> bool:
    """Whether a client may not reach the proxy's own machine: it is a remote client of a forward proxy.

    (Of a reverse proxy the operator configures the target.)
    """
    return not is_loopback(peer_of(client)) and not isinstance(client.proxy_mode, ReverseMode)


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of access, rebuilt when the configuration changes."""

    allow_clients: Sequence[Network] | None = None
    connect_ports: Collection[int] = (443, 8443)
    users: Mapping[str, str] = field(default_factory=dict)
    """Passwords by user; empty: no credentials are required."""

    def admits(self, client: str) -> bool:
        """Whether this client may connect. With `credentials` but no `allow_clients`, every address may connect."""
        address = address_of(client)
        if address is None or is_loopback(client):
            return True
        if self.allow_clients is None:
            return bool(self.users)
        return is_within(address, self.allow_clients)

    def authorised(self, client: str, proxy_authorization: str | None) -> bool:
        """Whether the credentials of a request are valid; loopback clients need none."""
        if not self.users or is_loopback(client):
            return True
        return bool(self.user(proxy_authorization))

    def user(self, proxy_authorization: str | None) -> str:
        """Return the user whose valid credentials these are; empty if they are of none."""
        scheme, _, encoded = (proxy_authorization or "").partition(" ")
        if scheme.lower() != "basic":
            return ""
        try:
            user, _, password = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeError):
            return ""
        expected = self.users.get(user, "")
        return user if hmac.compare_digest(expected.encode(), password.encode()) and expected else ""

    def tunnels(self, client: str, port: int) -> bool:
        """Whether this client may CONNECT to this port."""
        return address_of(client) is None or is_loopback(client) or port in self.connect_ports

    def purges(self, client: str, fields: Fields) -> bool:
        """Whether a PURGE with these fields is obeyed: only if a program on this machine sends it.

        Requests that a web page makes a browser send are refused: they have Origin or Sec-Fetch fields, which pages
        cannot remove. So are those of another proxy, whose clients may be remote: they have Via or similar fields.
        """
        passed_on = any(name.startswith(_OF_PAGES_AND_PROXIES) for name in fields.names())
        return is_loopback(client) and not passed_on
