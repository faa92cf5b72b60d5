"""The settings of a process, parsed from [proxy], as opposed to the rules of domains."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bestbefore.addon.rules import HostPattern
from bestbefore.policies.units import DAY_S

MIB = 1 << 20

type Network = ipaddress.IPv4Network | ipaddress.IPv6Network

type TrafficClients = Literal["hash", "address", "none"]
"""How the traffic log names a client: by a keyed hash of its address, by its address, or not at all."""
TRAFFIC_CLIENTS: tuple[TrafficClients, ...] = ("hash", "address", "none")


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on. Port 0 lets the system choose one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect. A name other than localhost may mean any address: no."""
        return self.host == "localhost" or _is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


DEFAULT_ADMIN = Address("127.0.0.1", 8081)
"""Where metrics are served unless the user says otherwise; then the next free port will do as well."""


@dataclass(frozen=True, slots=True)
class Server:
    """An origin or a parent proxy: scheme (http or https), host in lower case, port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{Address(self.host, self.port)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of [proxy]: each field is the key of the same name; the values are the defaults."""

    listen: Address = Address("127.0.0.1", 8080)
    mode: Server | None = None
    """The origin in front of which the proxy stands (reverse); None: a forward proxy."""
    state: Path
    """The folder of everything kept: store, certificate authority, bodies."""
    store: str = "embedded"
    """`embedded`, or the URL of a Redis server: redis://, rediss:// or unix://."""
    admin: Address | None = DEFAULT_ADMIN
    """Where metrics are served; None: nowhere."""
    store_max: int | None = None
    """Memory of the embedded store, bytes; None: the lesser of 1 GiB and a quarter of the machine's."""
    hot_max: int = 64 * MIB
    """Copies held in the process, bytes."""
    in_flight_max: int = 64 * MIB
    """Content on its way to clients and origins that is held in the process, bytes."""
    max_cached_body: int = 8 * MIB
    """The largest body that is stored, bytes."""
    keep: float = 7 * DAY_S
    """For how long a copy is kept after its expiry, seconds."""
    stale_if_down: float | None = None
    """For how long past its expiry a copy may be served while the origin is down, seconds; None: not at all."""
    offline: bool = False
    """Serve everything stored, contact nothing."""
    targeted: tuple[str, ...] = ()
    """Targeted cache-control fields that are obeyed (RFC 9213), in lower case, the first that is present winning."""
    via_request: bool = True
    """Whether requests to the origin bear Via."""
    traffic_log: bool = False
    """Whether the requests that are answered are kept, for `bestbefore export`."""
    traffic_keep: float = 30 * DAY_S
    """For how long they are kept, seconds."""
    traffic_clients: TrafficClients = "hash"
    """How clients are named there."""
    passthrough: tuple[HostPattern, ...] = ()
    """Hosts whose TLS is tunnelled, never intercepted."""
    allow_clients: tuple[Network, ...] | None = None
    """Networks beyond loopback whose clients may connect; None: none, or with `credentials` any."""
    credentials: Path | None = None
    """The file of users and passwords, one of which clients beyond loopback must show."""
    connect_ports: frozenset[int] = frozenset({443, 8443})
    """Ports to which clients beyond loopback may CONNECT."""
    upstream: Server | None = None
    """A parent proxy."""
    connect_timeout: float = 10.0
    """How long a connection to an origin may take to be made, TLS included, seconds."""
    head_timeout: float = 10.0
    """How long the head of a message may take, from its first byte to its last, seconds."""
    read_timeout: float = 60.0
    """How long an answer may take to begin, and content to go on, in either direction, seconds."""
    idle_timeout: float = 600.0
    """How long an event stream, a tunnel or an upgraded connection may be silent, seconds."""

    def is_passthrough(self, host: str) -> bool:
        """Whether the host is tunnelled, never intercepted."""
        return any(pattern.matches(host) for pattern in self.passthrough)


HOT_KEYS = frozenset({"allow_clients", "credentials", "passthrough", "offline", "max_cached_body"})
"""The settings that change while the proxy runs; the others take effect at its next start."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
