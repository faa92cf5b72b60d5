"""Parsers of single configuration values. Each returns the value, or raises ValueError with what was expected."""

import difflib
import ipaddress
import json
import math
import re
import ssl
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, tzinfo
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

from bestbefore.addon.config.credentials import read_credentials
from bestbefore.addon.config.settings import Address, Network, Server
from bestbefore.addon.log_template import FORMATS, LogTemplate
from bestbefore.addon.prefetch_limits import PERIODS_S, FetchRate
from bestbefore.addon.rules import HostPattern, OriginCa
from bestbefore.addon.week_times import WeekTimes
from bestbefore.policies.validation.machinery.spec import parse_duration

type Reader[T] = Callable[[object], T]

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MAX_BYTES = 1 << 50
_MOST = 1e12
_MAX_CA_BYTES = 4 << 20
_CERTIFICATE = re.compile(r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----")
_SIZE = re.compile(r"([0-9]{1,16}) ?([A-Za-z]*)", re.ASCII)
_FETCH_RATE = re.compile(rf"([0-9]{{1,9}}) ?/ ?({'|'.join(PERIODS_S)})", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SEVERAL = re.compile(r"rediss?\+(cluster://[^/?#]|sentinel://[^/?#]+/[^/?#])")
_DATABASE = re.compile(r"/?[0-9]*", re.ASCII)
_UNENCODED = re.compile(r"rediss?(?:\+[a-z]+)?://[^@]*:(?![0-9]+[/?#,])[^@/?#\]]*[/?#][^@]*@")
"""The URL of a store whose password has a character that ends the host in a URL."""
_NETWORK = 'expected a network or an address, such as "192.0.2.0/24"'
_DEFAULT_PORTS = {"http": 80, "https": 443}


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the name that is most similar; None if none is."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("expected true or false")


def text(value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise ValueError("expected a text of one character or more")


def one_of[T: str](names: Collection[T]) -> Reader[T]:
    def read(value: object) -> T:
        for name in names:
            if name == value:
                return name
        meant = nearest(str(value), names)
        raise ValueError(f"expected one of {', '.join(names)}" + (f"; did you mean {meant}?" if meant else ""))

    return read


def list_of[T](read_item: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            shown = f"[{json.dumps(value)}]" if isinstance(value, str | int) else "[...]"
            raise ValueError(f"expected a list, such as {shown}")  # noqa: TRY004
        items = []
        for number, item in enumerate(value, 1):
            try:
                items.append(read_item(item))
            except ValueError as error:
                raise ValueError(f"item {number}: {error}") from None
        return tuple(items)

    return read


def whole_number(least: int, most: int) -> Reader[int]:
    """Return a parser of a whole number in a range; an option of the command line is its digits."""

    def read(value: object) -> int:
        if type(value) is int or (isinstance(value, str) and _DIGITS.fullmatch(value)):
            number = int(value)
            if least <= number <= most:
                return number
        raise ValueError(f"expected a whole number from {least} to {most}")

    return read


def size_bytes(minimum: int = 0) -> Reader[int]:
    """Return a parser of a number of bytes, plain or with KiB, MiB, GiB or TiB."""

    def read(value: object) -> int:
        match = _SIZE.fullmatch(str(value)) if isinstance(value, int | str) else None
        if match and match[2] in _UNITS:
            size = int(match[1]) * _UNITS[match[2]]
            if minimum <= size <= _MAX_BYTES:
                return size
        least = f"{minimum >> 20}MiB" if minimum >> 20 else str(minimum)
        raise ValueError(f'expected a size from {least} to 1024TiB, such as "64KiB", "8MiB" or "1GiB"')

    return read


def duration_s(value: object) -> float:
    """Parse seconds from a number or a text such as `6h`; neither infinite nor negative."""
    with suppress(ValueError):
        if isinstance(value, str | int | float) and math.isfinite(seconds := parse_duration(value)):
            return seconds
    raise ValueError('expected a duration, such as "90s", "15m", "6h", "7d" or a number of seconds')


def timeout_s(value: object) -> float:
    """Parse a time limit in seconds: above 0, and at most a day."""
    with suppress(ValueError):
        if 0 < (seconds := duration_s(value)) <= 86_400:
            return seconds
    raise ValueError('expected a duration of more than 0s and at most 1d, such as "10s"')


def fetch_rate(value: object) -> FetchRate:
    match = _FETCH_RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not int(match[1]):
        raise ValueError('expected a number of fetches, 1 or more, in an hour, a day or a week, such as "5000/day"')
    return FetchRate(int(match[1]), PERIODS_S[match[2]])


def number(value: object) -> float:
    """Parse a number, 0 or more."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= _MOST:
        return float(value)
    raise ValueError("expected a number, 0 or more")


def week_times(value: object) -> WeekTimes:
    return WeekTimes.parse(text(value))


def time_zone(value: object) -> tzinfo:
    try:
        name = text(value)
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        raise ValueError('expected the name of a time zone, such as "UTC" or "Europe/Berlin"') from None


def address(value: object) -> Address:
    if isinstance(value, str):
        host, colon, port = value.rpartition(":")
        if host and colon and _is_port(port) and (":" not in host or host.startswith("[")):
            return Address(_host(host), int(port))
    raise ValueError('expected HOST:PORT, such as "127.0.0.1:8080" or "[::1]:8080"')


def server(value: object) -> Server:
    """Parse an http or https URL of a server, without user, path and query."""
    parts = _split_url(value)
    bare = parts is not None and not (parts.username or parts.password or parts.query or parts.fragment)
    if parts is None or not bare or parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError('expected http://HOST:PORT or https://HOST:PORT, without user and path')
    return Server(parts.scheme, _host(parts.hostname), parts.port or _DEFAULT_PORTS[parts.scheme])


def mode(value: object) -> Server | None:
    """Parse a mode: None for a forward proxy, the origin of a reverse one."""
    if value == "forward":
        return None
    if isinstance(value, str) and value.startswith("reverse:"):
        return server(value.removeprefix("reverse:"))
    raise ValueError('expected "forward" or "reverse:URL", such as "reverse:http://127.0.0.1:8000"')


def store(value: object) -> str:
    """Parse `embedded`, or the URL of a Redis server, or of several of a cluster or of sentinels.

    The store checks each server and the options, as redis-py accepts them.
    """
    if isinstance(value, str) and _UNENCODED.match(value):
        raise ValueError("expected %2F, %3F and %23 in place of /, ? and # in a user or password")
    if isinstance(value, str) and value.isprintable() and " " not in value and _SEVERAL.match(value):
        return value
    parts = _split_url(value)
    if value == "embedded" or (parts is not None and _is_redis(parts)):
        return str(value)
    raise ValueError(
        'expected "embedded", redis://HOST:PORT/DB, rediss://HOST:PORT/DB, unix:///PATH, '
        "redis+cluster://HOST:PORT,... or redis+sentinel://HOST:PORT,.../SERVICE"
    )


def _is_redis(parts: SplitResult) -> bool:
    if parts.scheme == "unix":
        return not parts.netloc and parts.path.startswith("/")
    return parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and _DATABASE.fullmatch(parts.path) is not None


def path_from(folder: Path) -> Reader[Path]:
    """Return a parser of paths: relative ones are relative to `folder`, and `~` is the home folder."""

    def read(value: object) -> Path:
        try:
            return folder / Path(text(value)).expanduser()
        except (ValueError, RuntimeError):
            raise ValueError("expected a path") from None

    return read


def readable_file_from(folder: Path) -> Reader[Path]:
    read_path = path_from(folder)

    def read(value: object) -> Path:
        path = read_path(value)
        try:
            if not stat.S_ISREG(path.stat().st_mode):  # to open a named pipe would block
                raise ValueError(f"expected a file that can be read; {path.absolute()} is none")
            path.open("rb").close()
        except OSError as error:
            raise ValueError(f"expected a file that can be read; {path.absolute()}: {error.strerror}") from None
        return path

    return read


def credentials_from(folder: Path) -> Reader[Path]:
    """Return a parser of paths of files with users and passwords, which it reads."""
    read_path = readable_file_from(folder)

    def read(value: object) -> Path:
        path = read_path(value)
        read_credentials(path)
        return path

    return read


def origin_ca_from(folder: Path) -> Reader[OriginCa]:
    """Return a parser of paths of files with certificates, which it reads."""
    read_path = readable_file_from(folder)

    def read(value: object) -> OriginCa:
        path = read_path(value)
        with path.open("rb") as file:
            content = file.read(_MAX_CA_BYTES + 1)
        try:
            pem = content[:_MAX_CA_BYTES].decode("latin-1")
            certificates = "\n".join(_CERTIFICATE.findall(pem))  # without text between them, and any private key
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificates)
        except (ssl.SSLError, ValueError):
            raise ValueError("expected a file of certificates in PEM form (-----BEGIN CERTIFICATE-----)") from None
        return OriginCa(str(path), certificates)

    return read


def network(value: object) -> Network:
    if not isinstance(value, str):
        raise ValueError(f"{_NETWORK}, as a text")  # noqa: TRY004
    try:
        found = ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError(_NETWORK) from None
    if found.prefixlen < found.max_prefixlen and ipaddress.ip_interface(value).ip != found.network_address:
        raise ValueError(f'expected the network itself, "{found}", or one address without /')
    return found


def port(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535:
        return value
    raise ValueError("expected a port, 1 to 65535")


def log_format(value: object) -> str:
    """Parse the name of a log format, or a template."""
    given = text(value)
    if given not in FORMATS:
        LogTemplate.parse(given)
    return given


def field_name(value: object) -> str:
    if isinstance(value, str) and _TOKEN.fullmatch(value):
        return value.lower()
    raise ValueError('expected the name of a header field, such as "CDN-Cache-Control"')


def host_pattern(value: object) -> HostPattern:
    return HostPattern.parse(text(value))


def _is_port(digits: str) -> bool:
    return digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) <= 65535


def _host(text: str) -> str:
    host = HostPattern.parse(text).text
    if "*" in host:
        raise ValueError("expected a host, not a pattern")
    return host


def _split_url(value: object) -> SplitResult | None:
    if not isinstance(value, str) or not value.isprintable() or " " in value:
        return None
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 (raises for a port that is no port)
    except ValueError:
        return None
    return parts
