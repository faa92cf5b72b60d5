"""The objects that are fetched although no client asks for them, and the requests for them.

They are those that the owner lists, and the sitemaps of hosts in demand: those that a robots.txt names, and those that
an index among these lists, all on the host itself.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
from cachetools import LRUCache

from bestbefore.addon.prefetcher.eligibility import Refusal, fetch_of, refused_url
from bestbefore.addon.proxy.access.reach import PUBLIC, Reach, range_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from bestbefore.addon.store.positions import Positions
from bestbefore.policies.units import DAY_S

MOST_HOSTS = 500
"""For how many hosts sitemaps are remembered, those fetched from last."""
MOST_OF_HOST = 10
"""How many sitemaps of a host are fetched."""
KEPT_S = 2 * DAY_S
"""For how long after the last fetch of another object of their host."""
SITEMAP_LONGEST_S = DAY_S
"""The longest time between two fetches of a sitemap."""
_NAME = "sitemaps"


@dataclass(slots=True)
class HostSitemaps:
    """The sitemaps of a host."""

    until_s: float
    """Until when they are fetched, policy time."""
    named: tuple[str, ...] = ()
    """Those that its robots.txt names."""
    listed: tuple[str, ...] = ()
    """Those that the indexes among them list."""
    asked_from: tuple[str, ...] = ()
    """The private ranges from which clients have requested objects of the host."""

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.named, *self.listed)))[:MOST_OF_HOST]


@dataclass(slots=True, eq=False)
class Watched:
    """The watched objects. Sitemaps are shared through the store, as their shards may lie at other proxies."""

    listed: Collection[str]
    """The objects that the owner lists."""
    between_polls_s: Callable[[str], float] = lambda _url: 0.0
    """Returns the least time between two fetches of a sitemap, by the evidence of its signals."""
    _hosts: LRUCache[str, HostSitemaps] = field(init=False, default_factory=lambda: LRUCache(MOST_HOSTS))
    _is_written: bool = field(init=False, default=True)

    def __contains__(self, url: object) -> bool:
        return url in self.listed or (isinstance(url, str) and self.is_sitemap(url))

    def __len__(self) -> int:
        return len(self.listed) + sum(len(host.urls) for host in self._hosts.values())

    def __iter__(self) -> Iterator[str]:
        yield from self.listed
        for host in list(self._hosts.values()):
            yield from host.urls

    def is_sitemap(self, url: str) -> bool:
        """Whether an object is the sitemap of a host in demand."""
        host = self._of(url) if self._hosts else None
        return host is not None and url in host.urls

    def _of(self, url: str) -> HostSitemaps | None:
        return self._hosts.get(urlsplit(url).hostname or "")

    def longest_s(self, url: str) -> float:
        """Return the longest time between two fetches of an object; infinite if it is no sitemap."""
        return SITEMAP_LONGEST_S if self.is_sitemap(url) else math.inf

    def least_s(self, url: str) -> float:
        """Return the least time between two fetches of an object; 0 if it is no sitemap."""
        return self.between_polls_s(url) if self.is_sitemap(url) else 0.0

    def asked_from(self, url: str) -> tuple[str, ...]:
        """Return the private ranges from which a sitemap may be fetched."""
        host = self._of(url)
        return host.asked_from if host is not None and url in host.urls else ()

    def wanted(self, url: str, now_s: float) -> None:
        """Record that an object is fetched: if it is no sitemap itself, those of its host go on."""
        host = self._of(url) if self._hosts else None
        if host is not None and url not in host.urls:
            host.until_s = now_s + KEPT_S

    def named(self, host: str, urls: Iterable[str], asked_from: tuple[str, ...], now_s: float) -> None:
        """Take the sitemaps that a robots.txt of the host names."""
        found, known = _of_host(host, urls), self._hosts.get(host)
        if known is None and not found:
            return
        listed = () if known is None else known.listed
        self._set(host, HostSitemaps(now_s + KEPT_S, found, listed if found else (), asked_from))

    def indexed(self, url: str, urls: Iterable[str]) -> tuple[str, ...]:
        """Take the sitemaps that an index lists, if a robots.txt names it; return those that are new."""
        host, known = urlsplit(url).hostname or "", self._of(url)
        if known is None or url not in known.named:
            return ()
        before = set(known.urls)
        self._set(host, HostSitemaps(known.until_s, known.named, _of_host(host, urls), known.asked_from))
        return tuple(url for url in self._hosts[host].urls if url not in before)

    def _set(self, host: str, found: HostSitemaps) -> None:
        known = self._hosts.get(host)
        if known is None or (known.urls, known.asked_from) != (found.urls, found.asked_from):
            self._is_written = False
        self._hosts[host] = found

    async def exchange(self, positions: Positions, now_s: float) -> None:
        """Drop the hosts that are not in demand any more, and exchange the others with the store."""
        for host, one in list(self._hosts.items()):
            if not one.until_s - KEPT_S <= now_s < one.until_s:
                del self._hosts[host]
        stored = _decoded(await positions.get(_NAME))
        for host, one in stored.items():
            if host not in self._hosts and now_s < one.until_s <= now_s + KEPT_S:
                self._hosts[host] = one
        if not self._is_written:
            self._is_written = True
            kept = dict(list({**stored, **self._hosts}.items())[-MOST_HOSTS:])
            await positions.put(_NAME, msgspec.json.encode(kept))

def watched_fetch_of(
    url: str, copies: tuple[Copy, ...], asked_from: tuple[str, ...], user_agent: str
) -> tuple[Request, Reach] | Refusal:
    """Return the request for a watched object, and the addresses it may reach; or the reason for refusing it.

    It is that of `fetch_of` if there is a copy for all clients to validate, else one without any field of a client. A
    private address is reached if the URL itself has it; if a name leads to one, only if a client has asked from there.
    """
    refusal = refused_url(url)
    if refusal is not None:
        return refusal
    target = Target.parse(url)
    own = range_of(target.host)
    found = fetch_of(copies, (*asked_from, own) if own else asked_from, user_agent)
    if found not in (Refusal.NO_COPY, Refusal.PERSONAL):
        return found
    ranges = frozenset((own,)) if own else frozenset(asked_from)
    return Request("GET", target, Fields([("User-Agent", user_agent)])), Reach(ranges) if ranges else PUBLIC

def _of_host(host: str, urls: Iterable[str]) -> tuple[str, ...]:
    """Return those that lie on the host and may be fetched, as they name objects."""
    found: dict[str, None] = {}
    for url in urls:
        try:
            target = Target.parse(url)
        except ValueError:
            continue
        if target.host == host and refused_url(target.url) is None:
            found[target.url] = None
        if len(found) == MOST_OF_HOST:
            break
    return tuple(found)


def _decoded(value: bytes | None) -> dict[str, HostSitemaps]:
    try:
        return msgspec.json.decode(value or b"{}", type=dict[str, HostSitemaps])
    except msgspec.DecodeError:
        return {}
