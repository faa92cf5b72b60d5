"""HTTP messages: fields, the target and head of a request, the head of a response.

They are immutable, and keep field lines as received (the case of names, several lines of one name), because a proxy
must forward fields that it does not understand.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

NAME_CHARS = 40
"""How long a name may be that is kept, so that copies in memory share it."""

_lower = lru_cache(1024)(str.lower)


class Fields:
    """Header fields in order. Names are case-insensitive; values are latin-1 text.

    >>> f = Fields([("Vary", "a"), ("vary", "b")])
    >>> f.values("VARY"), f.get("vary"), "age" in f
    (('a', 'b'), 'a, b', False)
    """

    __slots__ = ("_index", "_names", "raw")

    def __init__(self, raw: Iterable[tuple[str, str]] = ()) -> None:
        self.raw: tuple[tuple[str, str], ...] = tuple(raw)
        self._index: dict[str, tuple[str, ...]] | None = None
        self._names: frozenset[str] | None = None

    def _lines(self) -> dict[str, tuple[str, ...]]:
        index: dict[str, tuple[str, ...]] = {}
        self._index = index
        for name, value in self.raw:
            lower = _lower(name) if len(name) <= NAME_CHARS else name.lower()
            earlier = index.get(lower)
            index[lower] = (value,) if earlier is None else (*earlier, value)
        return index

    def values(self, name: str) -> tuple[str, ...]:
        """The values of all lines of this name, in order."""
        return (self._index or self._lines()).get(name.lower(), ())

    def get(self, name: str) -> str | None:
        """Return all lines of this name joined with commas (RFC 9110 5.3), or None if there is none."""
        lines = (self._index or self._lines()).get(name.lower())
        return None if lines is None else lines[0] if len(lines) == 1 else ", ".join(lines)

    def first(self, name: str) -> str | None:
        """Return the value of the first line of this name, or None: for fields that are not lists."""
        lines = (self._index or self._lines()).get(name.lower())
        return None if lines is None else lines[0]

    def __contains__(self, name: str) -> bool:
        return name.lower() in (self._index or self._lines())

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all fields."""
        if self._names is None:
            self._names = frozenset(self._index or self._lines())
        return self._names

    def without(self, names: Collection[str]) -> Self:
        """Return the fields without those of the given lower-case names; the same object if it has none of them."""
        if self.names().isdisjoint(names):  # it keeps its index then
            return self
        return type(self)((n, v) for n, v in self.raw if n.lower() not in names)

    def replaced(self, name: str, value: str) -> Self:
        """Return the fields with one line of this name, at the end, in place of all others."""
        lower = name.lower()
        return type(self)([*((n, v) for n, v in self.raw if n.lower() != lower), (name, value)])

    def added(self, *lines: tuple[str, str]) -> Self:
        """Return the fields with these lines appended."""
        return type(self)((*self.raw, *lines))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Fields({list(self.raw)!r})"


DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request after normalisation: scheme and host in lower case, a path that starts with `/`.

    The path keeps its bytes (percent-encoding is not touched: two spellings may be two objects at the origin).
    """

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, without fragment; `*` for the server as a whole (RFC 9112 3.2.4)."""
    _url: str = field(default="", init=False, repr=False, compare=False)

    @classmethod
    def of(cls, scheme: str, host: str, port: int | None, path: str) -> "Target":
        scheme = scheme.lower()
        path = path.split("#", 1)[0]
        return cls(
            scheme,
            host.lower().rstrip(".") or host,
            port or DEFAULT_PORTS.get(scheme, 0),
            path if path.startswith("/") or path == "*" else "/" + path,
        )

    @classmethod
    def parse(cls, url: str) -> "Target":
        """Parse an absolute http or https URL. Raises ValueError, which names the URL, for anything else."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as e:
            raise ValueError(f"{url!r} is not an http or https URL: {e}") from None
        if parts.scheme.lower() not in DEFAULT_PORTS or not host:
            raise ValueError(f"{url!r} is not an http or https URL")
        return cls.of(parts.scheme, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))

    @property
    def authority(self) -> str:
        """Host, and port unless it is the scheme's own; an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS.get(self.scheme) else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as a URL without path."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The URL, which names the object."""
        url = self._url
        if not url:  # kept, as each use of a request needs it
            url = f"{self.origin}{self.path}"
            object.__setattr__(self, "_url", url)
        return url


def host_and_path(url: str) -> tuple[str, str]:
    """Return host and path of a URL as `Target.parse` does, several times as fast. Raises ValueError where it does.

    What precedes the path is parsed once for many URLs.
    """
    authority = url.find("://") + 3
    slash = url.find("/", authority)
    is_plain = authority > 3 and slash > 0 and "?" not in url[:slash] and "#" not in url and url[-1] != "?"
    if not (is_plain and url.isprintable()):
        target = Target.parse(url)
        return target.host, target.path
    return _host_of(url[:slash]), url[slash:]


@lru_cache(maxsize=4096)
def _host_of(origin: str) -> str:
    return Target.parse(origin).host


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request as the engine sees it."""

    method: str
    target: Target
    fields: Fields = field(default_factory=Fields)
    has_body: bool = False
    partition: str = ""
    """Part of the cache key: empty live; the client in a replay with a cache for each client. Histories have none."""
    version: str = ""
    """The version in which it was received, such as `HTTP/1.1`; empty: it is the proxy's own, or recorded."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and fields of a response, without its body."""

    status: int
    fields: Fields = field(default_factory=Fields)
    reason: str = ""
