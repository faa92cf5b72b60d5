"""The rules of domains, into which the configuration is parsed, and the look-up of the rule for a request."""

import hashlib
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Self

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.prefetch_limits import NO_PREFETCH_LIMITS, PrefetchLimits
from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUPS
from bestbefore.addon.rfc9111.patterns import matches_stars
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.features import Needs

type Obey = Literal["strict", "shorten", "override"]
"""Which lifetime applies: the origin's alone; the shorter of the two; the policy's (at the user's own risk)."""

OBEY: tuple[Obey, ...] = ("strict", "shorten", "override")

type LearnWithoutValidator = Literal["learn", "always", "never"]
"""Whether responses without a validator may have a learned lifetime: after enough contacts; at once; or never."""

OVERRIDABLE = ("must-revalidate", "no-cache", "proxy-revalidate", "s-maxage")
"""The directives that a rule may name in `override`. no-store and private can never be overridden."""

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")

# Clients can invent hosts, so the cache is bounded: the least recently used hosts are looked up again.
_HOSTS_REMEMBERED = 65_536


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A pattern of hosts.

    Grammar: `*` | [`*.`] NAME | IPv4 | IPv6 | `[` IPv6 `]`. A NAME is labels of letters, digits, `-` and `_`,
    joined by dots; other letters are converted to their IDNA form. Case and one final dot do not matter. `*` matches
    every host, `*.example.org` every host that ends in `.example.org`, at any depth, but not `example.org` itself.
    """

    text: str
    """In lower case, without brackets and final dot."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, which says what is wrong, for what the grammar does not allow."""
        bare = text.lower()
        if bare == "*":
            return cls(bare)
        if bare.startswith("[") and bare.endswith("]"):
            bare = bare[1:-1]
        try:
            return cls(str(ipaddress.ip_address(bare)))
        except ValueError:
            name = bare.removesuffix(".")
        wildcard, name = ("*.", name[2:]) if name.startswith("*.") else ("", name)
        try:
            name = name if name.isascii() else name.encode("idna").decode("ascii")
        except UnicodeError:
            raise ValueError(f"{text!r} is not a host name") from None
        if not all(_LABEL.fullmatch(label) for label in name.split(".")):
            port = ", without port" if text.rpartition(":")[2].isdigit() else ""
            raise ValueError(f"{text!r} is not a host pattern: expected a host, *.DOMAIN or *{port}")
        return cls(wildcard + name)

    def matches(self, host: str) -> bool:
        """Whether the pattern matches a host, in any case."""
        if self.text == "*":
            return True
        name = host.lower().removesuffix(".")
        return name.endswith(self.text[1:]) if self.text.startswith("*.") else name == self.text

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of objects: a host pattern and optionally a path pattern, as in `example.org/feeds/*`.

    A path pattern starts with `/` and must match the whole path, with the same case; each `*` matches any text,
    slashes too. If it has a `?` it is compared with path and query, else with the path alone: `/feed` matches
    `/feed?page=2`, and `/search?q=*` only a search. A pattern has no scheme and no port.
    """

    host: HostPattern
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, which says what is wrong, for what the grammar does not allow."""
        host, slash, path = text.partition("/")
        if host.endswith(":") and path.startswith("/"):
            raise ValueError(f"{text!r} has a scheme: expected HOST or HOST/PATH")
        return cls(HostPattern.parse(host), "/" + path if slash else None)

    def matches_path(self, path: str) -> bool:
        """Whether the pattern matches the path, with the query if it has one, of a request to a matching host."""
        if self.path is None:
            return True
        return matches_stars(self.path, path if "?" in self.path else path.partition("?")[0])

    def covers(self, other: Self) -> bool:
        """Whether it matches all that the other does, as far as the hosts and equal paths show."""
        if self.path not in (None, other.path):
            return False
        return self.host.text in ("*", other.host.text) or (
            self.host.text.startswith("*.") and other.host.text.endswith(self.host.text[1:])
        )

    def __str__(self) -> str:
        return f"{self.host}{self.path or ''}"


@dataclass(frozen=True, slots=True)
class OriginCa:
    """Certificate authorities of origins, as read from a file."""

    file: str
    pem: str = field(repr=False)

    def __str__(self) -> str:
        return self.file


@dataclass(frozen=True, slots=True)
class Trust:
    """How the certificate of an origin is verified."""

    ca: OriginCa | None = None
    """Authorities that are trusted besides the system's."""
    verify: bool = True


@dataclass(frozen=True, slots=True)
class DomainRule:
    """The rule for the objects of one pattern."""

    match: Pattern
    policy: Bounded
    """The policy that gives copies their expiry."""
    obey: Obey = "strict"
    """Whether it applies beside the lifetimes that origins give, may shorten them, or replaces them."""
    override: frozenset[str] = frozenset()
    """Directives of `OVERRIDABLE` whose effect `obey = "override"` may lengthen."""
    group: str | None = None
    """The name of the group; None: the registrable domain. `CACHE_GROUPS`: the first that the object's responses name
    (RFC 9875), for an object without one the registrable domain."""
    learn_without_validator: LearnWithoutValidator = "learn"
    """Whether objects without ETag and Last-Modified may have a learned lifetime, and, with `always`, are counted in
    their group."""
    trust_piggyback: bool = False
    """Whether the Update-History that the origin sends is used."""
    send_update_history: bool = False
    """Whether clients that ask for it (`Want-Update-History`) get an object's updates; a reverse proxy always sends
    them."""
    honour_client_cc: bool = True
    """Whether the Cache-Control of requests (no-cache, max-age) is obeyed."""
    stale_if_down_s: float | None = None
    """For how many seconds past its expiry a copy may be served while the origin is down; None: not at all."""
    interim: bool = True
    """Whether interim (1xx) responses are forwarded to clients."""
    feed_etag: bool = True
    """Whether feeds without a validator get a weak entity tag from the proxy."""
    feed_delta: bool = True
    """Whether clients that ask for it (`A-IM: feed`) get only the items that they have not seen, and origins are asked
    for deltas."""
    feed_hint: float = HOUR_S
    """How far beyond the last contact a feed's declaration (ttl, sy:updatePeriod, skipHours, skipDays) may move an
    expiry, s; 0: it is ignored."""
    origin_ca: OriginCa | None = None
    """Authorities that the certificates of these origins may come from, besides the system's."""
    verify: bool = True
    """Whether the certificates of these origins are verified."""
    prefetch_limits: PrefetchLimits = NO_PREFETCH_LIMITS
    """The limits and the weight of background fetches."""
    key: str = field(init=False, repr=False, compare=False)
    """A digest of the fields that decide an expiry. A copy evaluated under another key is evaluated again when used."""

    counts_demand: bool = field(init=False, repr=False, compare=False)
    """Whether requests are counted for each copy: the policy reads the demand."""

    def group_of(self, host: str, cache_group: str) -> str:
        """Return the name of the group of an object to which the rule applies, as `Rules.group_of` does."""
        return (cache_group if self.group == CACHE_GROUPS else self.group) or registrable_domain(host)

    def __post_init__(self) -> None:
        text = repr((self.policy, self.group, self.feed_hint))
        object.__setattr__(self, "key", hashlib.blake2b(text.encode(), digest_size=6).hexdigest())
        object.__setattr__(self, "counts_demand", Needs.DEMAND in self.policy.needs)


@dataclass(frozen=True)
class Rules:
    """All rules, in their order. The first that matches applies; the default rule applies if none does."""

    default: DomainRule
    domains: tuple[DomainRule, ...] = ()
    _candidates: Callable[[str], tuple[DomainRule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The cache is the only mutable part of this frozen class: every request, also a hit, looks up its rule.
        object.__setattr__(self, "_candidates", lru_cache(_HOSTS_REMEMBERED)(self._find_candidates))

    def __reduce__(self) -> tuple[type["Rules"], tuple[object, ...]]:
        """Return what makes an equal object in another process, which begins with an empty cache."""
        return Rules, (self.default, self.domains)

    def _find_candidates(self, host: str) -> tuple[DomainRule, ...]:
        """Return the rules that can apply to this host, in order; the last of them applies to all its paths."""
        found: list[DomainRule] = []
        for rule in self.domains:
            if rule.match.host.matches(host):
                found.append(rule)
                if rule.match.path is None:
                    return tuple(found)
        return (*found, self.default)

    def rule_for(self, host: str, path: str) -> DomainRule:
        """Return the rule of an object by its host, in any case, and its path, with the query if it has one."""
        candidates = self._candidates(host)
        for rule in candidates[:-1]:
            if rule.match.matches_path(path):
                return rule
        return candidates[-1]

    def trust_of(self, host: str) -> Trust:
        """Return how the certificate of a host is verified, by the rule that applies to all its paths."""
        rule = self._candidates(host)[-1]
        return Trust(rule.origin_ca, rule.verify)

    def group_of(self, host: str, path: str = "/", cache_group: str = "") -> str:
        """Return the name of an object's group: that of its rule, or the registrable domain of its host.

        `cache_group`: the group of its origin in which it is counted (`Record.cache_group`).
        """
        return self.rule_for(host, path).group_of(host, cache_group)
