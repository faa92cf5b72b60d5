"""The addresses of stores: a server, the nodes of a cluster, or the sentinels that know the primary of a service."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis.exceptions as errors
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import parse_url

from bestbefore.addon.store.backend.connections.tls_files import check_tls_files
from bestbefore.addon.store.backend.interface import StoreInputError

EMBEDDED = "`embedded`, "
EXPECTED = (
    f"expected {EMBEDDED}redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://..., unix:///PATH, "
    "redis+cluster://HOST[:PORT],... or redis+sentinel://HOST[:PORT],.../SERVICE"
)
SCHEMES = {"redis+", "rediss+", "unix+", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel"}
SENTINEL_PORT = 26_379
REPLICAS_AT_MOST = 16
"""The largest `wait`."""
SENTINEL_USER = {"sentinel_username": "username", "sentinel_password": "password"}
"""What of the query of a URL is for the sentinels, and redis-py's names for it."""
_PASSWORD = re.compile(r"([?&;](?:sentinel_)?password=)[^&;]*")

type Kind = Literal["server", "cluster", "sentinel"]


class StoreAddress(NamedTuple):
    """An address as the user has written it."""

    kind: Kind
    urls: tuple[str, ...]
    """A URL, as redis-py reads it, of each server that is named: the server, nodes of a cluster, or sentinels."""
    service: str
    """The name under which sentinels know the server."""
    wait: int
    """How many replicas must have what is learnt before it counts as written (`wait` in the URL)."""
    shown: str
    """For messages, without passwords."""
    sentinel_user: Mapping[str, str]
    """`username` and `password` for the sentinels, of which either may be missing."""


def parse_address(url: str) -> StoreAddress:
    """Parse the URL of a store. Raises StoreInputError."""
    shown = without_password(url)
    scheme, _, kind = url.partition("://")[0].partition("+")
    if f"{scheme}+{kind}" not in SCHEMES:
        raise StoreInputError(f"store {shown!r}: {EXPECTED}")
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
        waits = [value for name, value in options if name == "wait"]
    except ValueError as e:
        raise StoreInputError(f"store {shown!r}: {e}; {EXPECTED}") from None
    if waits and not (waits[-1].isascii() and waits[-1].isdigit() and int(waits[-1]) <= REPLICAS_AT_MOST):
        raise StoreInputError(
            f"store {shown!r}: wait={waits[-1]}: expected a number of replicas, 0 to {REPLICAS_AT_MOST}"
        )
    wait = int(waits[-1]) if waits else 0
    asked_by = {SENTINEL_USER[name]: value for name, value in options if name in SENTINEL_USER}
    if asked_by and kind != "sentinel":
        raise StoreInputError(f"store {shown!r}: it has no sentinels that would ask for a user or password; {EXPECTED}")
    own = [(name, value) for name, value in options if name != "wait" and name not in SENTINEL_USER]
    query = urlencode(own) if len(own) < len(options) else parts.query
    if not kind:
        plain = urlunsplit(parts._replace(query=query)) if waits else url
        return StoreAddress("server", (_checked(plain, shown),), "", wait, shown, {})
    user, at, hosts = parts.netloc.rpartition("@")
    service, path = "", parts.path
    if kind == "sentinel":
        service, _, database = path.strip("/").partition("/")
        path = f"/{database}" if database else ""
        if not service:
            raise StoreInputError(f"store {shown!r}: it names no service of the sentinels; {EXPECTED}")
        hosts = ",".join(_with_port(host, SENTINEL_PORT) for host in hosts.split(","))
    elif path.strip("/") not in ("", "0"):
        raise StoreInputError(f"store {shown!r}: a cluster has only the database 0")
    urls = tuple(
        _checked(urlunsplit((scheme, f"{user}{at}{host}", path, query, "")), shown) for host in hosts.split(",")
    )
    return StoreAddress("cluster" if kind == "cluster" else "sentinel", urls, service, wait, shown, asked_by)


def _checked(url: str, shown: str) -> str:
    """Return the URL of one server, if redis-py can read it and the files it names. `shown`: the whole in messages."""
    scheme = url.partition("://")[0]
    try:
        options, database = parse_url(url), urlsplit(url).path.strip("/")
        # This parses the options in the URL; it does not connect yet.
        BlockingConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, errors.RedisError) as e:
        raise StoreInputError(f"store {shown!r}: {str(e).rpartition('__init__() ')[2]}; {EXPECTED}") from None
    if not options.get("path" if scheme == "unix" else "host"):
        raise StoreInputError(f"store {shown!r}: it has no {'path' if scheme == 'unix' else 'host'}; {EXPECTED}")
    if scheme != "unix" and database and not database.isdigit():
        raise StoreInputError(f"store {shown!r}: {database!r} is not a database number; {EXPECTED}")
    try:
        check_tls_files(options)
    except ValueError as e:
        raise StoreInputError(f"store {shown!r}: {e}") from None
    return url


def _with_port(host: str, port: int) -> str:
    """Return a host with a port, unless it has one (`[::1]` has none)."""
    return host if ":" in host.rpartition("]")[2] else f"{host}:{port}"


def without_password(url: str) -> str:
    """Return a URL without its passwords, for messages."""
    url = _PASSWORD.sub(r"\1***", url)
    before, at, after = url.rpartition("@")
    scheme, slashes, user = before.partition("://")
    return f"{scheme}{slashes}{user.partition(':')[0]}:***{at}{after}" if at and ":" in user else url
