"""Cache-Control, of requests and of responses (RFC 9111 5.2, RFC 5861, RFC 8246), and Pragma (RFC 9111 5.4)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from bestbefore.addon.rfc9111.fields.syntax import DELTA_MAX_S, delta_seconds, is_token, list_members, unquoted
from bestbefore.addon.rfc9111.message import Fields

STEERING_FIELDS = frozenset(("age", "cache-control", "content-encoding", "content-type", "date", "expires", "vary"))
"""Fields without which a stored response would be misinterpreted."""


@dataclass(frozen=True, slots=True)
class CacheControl:
    """The directives of one message.

    Seconds are at most `DELTA_MAX_S`; None means that the directive is absent.
    """

    no_store: bool = False
    no_cache: bool = False
    no_cache_names: frozenset[str] = frozenset()
    """The lower-case names of the fields to which `no-cache` is limited; empty if `no_cache` is true."""
    private: bool = False
    private_names: frozenset[str] = frozenset()
    """The same for `private`."""
    public: bool = False
    max_age: int | None = None
    s_maxage: int | None = None
    must_revalidate: bool = False
    proxy_revalidate: bool = False
    must_understand: bool = False
    immutable: bool = False
    no_transform: bool = False
    only_if_cached: bool = False
    max_stale: int | None = None
    """`DELTA_MAX_S` without an argument (any staleness)."""
    min_fresh: int | None = None
    stale_while_revalidate: int | None = None
    stale_if_error: int | None = None


NO_DIRECTIVES = CacheControl()

_PLAIN = re.compile(r"[a-z0-9_-]+")
"""The characters of known directives, and of field names in them."""


class _Seen:
    """The directives with their arguments, in order, before they are interpreted."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.arguments: dict[str, list[str | None]] = {}
        self.broken: set[str] = set()
        for line in lines:
            for member in list_members(line):
                self._add(member)

    def _add(self, member: str) -> None:
        name, equals, written = member.partition("=")
        argument = written if is_token(written) else unquoted(written)
        lower = name.lower()
        if _PLAIN.fullmatch(lower) and (not equals or argument is not None):
            self.arguments.setdefault(lower, []).append(argument if equals else None)
        else:
            # Not a valid directive. The intent of `private; max-age=60` and `'private'` is clear, so each word counts
            # as a directive with a malformed argument: it may restrict, but never permit.
            self.broken.update(_PLAIN.findall(member.lower()))

    def restricts(self, name: str) -> bool:
        return name in self.arguments or name in self.broken

    def permits(self, name: str) -> bool:
        return None in self.arguments.get(name, ())

    def seconds(self, name: str, unreadable: int | None, bare: int | None = None) -> int | None:
        """Return the first argument, s (RFC 9111 4.2.1). `bare`: the meaning of the directive without an argument."""
        if name in self.broken:
            return unreadable
        found = self.arguments.get(name)
        if found is None:
            return None
        if found[0] is None:
            return unreadable if bare is None else bare
        value_s = delta_seconds(found[0])
        return unreadable if value_s is None else value_s

    def fields(self, name: str) -> tuple[bool, frozenset[str]]:
        """Return whether the directive applies to the whole response, and else the fields to which it applies.

        The whole response also where the list of names is broken, or names a field that steers caching, which could
        then not be left out (RFC 9111 5.2.2.4 expects caches that read the qualified form so). Broken is also one in
        single quotes, which to the letter are part of a name.
        """
        if name in self.broken:
            return True, frozenset()
        names: set[str] = set()
        for argument in self.arguments.get(name, ()):
            members = list_members(argument.lower()) if argument is not None else []
            if not members or not all(map(_PLAIN.fullmatch, members)):
                return True, frozenset()
            names.update(members)
        return (True, frozenset()) if names & STEERING_FIELDS else (False, frozenset(names))


def parse_cache_control(lines: Iterable[str]) -> CacheControl:
    """Parse the directives of all Cache-Control lines of a message, in order.

    Malformed directives are interpreted in the most restrictive way: a lifetime as 0 (RFC 9111 4.2.1), a permission as
    absent.
    """
    given = tuple(lines)
    return _remembered(given) if sum(map(len, given)) <= _REMEMBERED_CHARACTERS else _parsed(given)


def _parsed(lines: tuple[str, ...]) -> CacheControl:
    seen = _Seen(lines)
    no_cache, no_cache_names = seen.fields("no-cache")
    private, private_names = seen.fields("private")
    return CacheControl(
        no_store=seen.restricts("no-store"),
        no_cache=no_cache,
        no_cache_names=no_cache_names,
        private=private,
        private_names=private_names,
        public=seen.permits("public"),
        max_age=seen.seconds("max-age", unreadable=0),
        s_maxage=seen.seconds("s-maxage", unreadable=0),
        must_revalidate=seen.restricts("must-revalidate"),
        proxy_revalidate=seen.restricts("proxy-revalidate"),
        must_understand=seen.permits("must-understand"),
        immutable=seen.permits("immutable"),
        no_transform=seen.restricts("no-transform"),
        only_if_cached=seen.restricts("only-if-cached"),
        max_stale=seen.seconds("max-stale", unreadable=None, bare=DELTA_MAX_S),
        min_fresh=seen.seconds("min-fresh", unreadable=DELTA_MAX_S),
        stale_while_revalidate=seen.seconds("stale-while-revalidate", unreadable=None),
        stale_if_error=seen.seconds("stale-if-error", unreadable=None),
    )


_REMEMBERED_CHARACTERS = 256
_remembered = lru_cache(1024)(_parsed)


def of_response(fields: Fields) -> CacheControl:
    """Parse the directives of a response. Pragma means nothing in a response (RFC 9111 5.4)."""
    return parse_cache_control(fields.values("cache-control"))


def of_request(fields: Fields, *, honour: bool = True) -> CacheControl:
    """Parse the directives of a request (RFC 9111 5.2.1).

    There no-cache takes no argument, so any counts as unqualified.

    `Pragma: no-cache` counts where there is no Cache-Control (RFC 9111 5.4; its use is deprecated, its senders
    live). `honour` false leaves what protects the client and its content (no-store, only-if-cached, no-transform),
    and drops what only chooses between the cache and the origin.
    """
    lines = fields.values("cache-control")
    if not lines:
        pragma = fields.get("pragma") if honour else None
        no_cache = pragma is not None and "no-cache" in list_members(pragma.lower())
        return CacheControl(no_cache=True) if no_cache else NO_DIRECTIVES
    asked = parse_cache_control(lines)
    if not honour:
        return CacheControl(
            no_store=asked.no_store, only_if_cached=asked.only_if_cached, no_transform=asked.no_transform
        )
    return replace(asked, no_cache=True, no_cache_names=frozenset()) if asked.no_cache_names else asked
