"""The settings of a process, parsed from [proxy], as opposed to the rules of domains."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bestbefore.addon.rules import HostPattern
from bestbefore.policies.units import DAY_S

MIB = 1 << 20
MOST_WORKERS = 64
"""How many processes may serve one port."""

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
        """Whether only this machine can connect; False for names other than localhost."""
        return self.host == "localhost" or _is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


DEFAULT_ADMIN = Address("127.0.0.1", 8081)
"""The default address of the metrics; if its port is taken, the next free port is used."""


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
    """The address on which clients reach the proxy."""
    workers: int | None = None
    """How many processes serve the address; None: one for each core, at most four."""
    mode: Server | None = None
    """The origin behind a reverse proxy; None: a forward proxy."""
    state: Path
    """The folder of all persistent files: store, certificate authority, bodies."""
    store: str = "embedded"
    """`embedded`, or the URL of a Redis server: redis://, rediss:// or unix://."""
    admin: Address | None = DEFAULT_ADMIN
    """The address of the dashboard, metrics and health; None: there are none."""
    admin_credentials: Path | None = None
    """The file of users and passwords with which other machines see the dashboard; None: they do not."""
    store_max: int | None = None
    """Memory of the embedded store, bytes; None: the lesser of 1 GiB and a quarter of the machine's."""
    hot_max: int = 16 * MIB
    """The capacity of the memory cache, bytes."""
    in_flight_max: int = 64 * MIB
    """The budget of content in flight in memory, bytes."""
    max_cached_body: int = 8 * MIB
    """The largest body that is stored in memory or in a Redis server, bytes."""
    max_cached_file: int = 256 * MIB
    """The largest body that the embedded store keeps as a file, bytes."""
    files_max: int = 8192 * MIB
    """How much disk space the files of the embedded store may take, bytes."""
    keep: float = 7 * DAY_S
    """How long a copy is kept after its lifetime, seconds."""
    stale_if_down: float | None = None
    """How long after its expiry a copy may be served while the origin is down, seconds; None: not at all."""
    offline: bool = False
    """Whether all copies are served and no origin is contacted."""
    targeted: tuple[str, ...] = ()
    """The targeted cache-control fields to obey (RFC 9213), in lower case, in order of preference."""
    via_request: bool = True
    """Whether requests to the origin have Via."""
    traffic_log: bool = False
    """Whether answered requests are logged, for `bestbefore export`."""
    traffic_keep: float = 30 * DAY_S
    """How long the traffic log is kept, seconds."""
    traffic_clients: TrafficClients = "hash"
    """How clients are named in the traffic log."""
    log_format: str = "line"
    """The format of the request log: a name, or a template."""
    log_file: Path | None = None
    """The file of the request log; None: standard output."""
    log_keep: float | None = None
    """How long the file of each day is kept, seconds; None: there is one file, which the proxy does not rotate."""
    log_query: bool = False
    """Whether URLs in the request log have their query; not in the format `line`."""
    passthrough: tuple[HostPattern, ...] = ()
    """Hosts whose TLS is tunnelled, never intercepted."""
    allow_clients: tuple[Network, ...] | None = None
    """Networks beyond loopback whose clients may connect; None: none, or with `credentials` any."""
    proxy_protocol_from: tuple[Network, ...] = ()
    """Networks of load balancers, whose connections must begin with a header of the PROXY protocol."""
    credentials: Path | None = None
    """The file of users and passwords, which clients beyond loopback must send."""
    connect_ports: frozenset[int] = frozenset({443, 8443})
    """Ports to which clients beyond loopback may CONNECT."""
    upstream: Server | None = None
    """A parent proxy."""
    connect_timeout: float = 10.0
    """The time limit for connecting to an origin, including TLS, seconds."""
    head_timeout: float = 10.0
    """The time limit for the head of a message, from its first byte to its last, seconds."""
    read_timeout: float = 60.0
    """The time limit for the start of a response, and between two reads of content in either direction, seconds."""
    idle_timeout: float = 600.0
    """The time limit without data on an event stream, a tunnel or an upgraded connection, seconds."""

    def is_passthrough(self, host: str) -> bool:
        """Whether the host is tunnelled, never intercepted."""
        return any(pattern.matches(host) for pattern in self.passthrough)


HOT_KEYS = frozenset({"allow_clients", "credentials", "passthrough", "offline", "max_cached_body", "max_cached_file"})
"""The settings that can change while the proxy runs; the others require a restart."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
