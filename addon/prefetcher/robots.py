"""The parser of robots.txt (RFC 9309).

The standard library's `urllib.robotparser` supports neither `*` and `$` in paths nor the precedence of the longest
rule, and so would fetch disallowed URLs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from bestbefore.addon.rfc9111.patterns import matches_stars

TOKEN = "bestbefore"  # noqa: S105 - our name in robots.txt
MAX_BYTES = 500 * 1024
"""The size limit of RFC 9309 2.5; the rest is ignored."""
MAX_STEPS = 4_000_000
"""The limit on the work of matching a path: the number of `*` in the rules times its length (a tenth of a second).
Beyond it the path counts as disallowed: with a hundred characters from 40,000 `*` on, with a thousand from 4,000."""
MOST_SITEMAPS = 100
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: str
    allows: bool
    start: str
    """The pattern up to its first `*` or `$`, by which most paths are excluded quickly."""

    @classmethod
    def of(cls, pattern: str, *, allows: bool) -> Self:
        return cls(pattern, allows, pattern.partition("*")[0].removesuffix("$"))

    def matches(self, path: str) -> bool:
        """Whether the pattern matches; without a final `$` it matches the start of a path."""
        ends = self.pattern.endswith("$")
        return matches_stars(self.pattern[:-1] if ends else self.pattern + "*", path)


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin that apply to this robot."""

    rules: Sequence[_Rule] = ()
    """In order of precedence: the longest first, and `allow` before `disallow` of the same length."""
    stars: int = 0
    """The number of `*` in all rules."""
    sitemaps: tuple[str, ...] = ()
    """The first sitemaps that the file names, to whichever robot."""

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Parse the rules of the groups for this robot or, without any, of those for all. Skips malformed lines."""
        ours: list[_Rule] = []
        everybodys: list[_Rule] = []
        sitemaps: list[str] = []
        named = False
        for_us = for_all = in_rules = False  # state of the current group
        for line in content[:MAX_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
            name, colon, value = line.partition("#")[0].partition(":")
            key, value = name.strip().lower(), value.strip()
            if not colon:
                continue
            if key == "user-agent":
                if in_rules:
                    for_us = for_all = in_rules = False
                for_us = for_us or _is_us(value.lower())
                for_all = for_all or value == "*"
                named = named or for_us
            elif key == "sitemap" and len(sitemaps) < MOST_SITEMAPS:
                sitemaps.append(value)
            elif key in ("allow", "disallow"):
                in_rules = True
                if value:
                    rule = _Rule.of(_normalised(value), allows=key == "allow")
                    ours += [rule] if for_us else []
                    everybodys += [rule] if for_all else []
        rules = sorted(ours if named else everybodys, key=lambda rule: (-len(rule.pattern), not rule.allows))
        return cls(rules, sum(rule.pattern.count("*") for rule in rules), tuple(sitemaps))

    def allows(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched: the first matching rule in order of precedence decides."""
        path = _normalised(path)
        if path == "/robots.txt":
            return True
        if self.stars * len(path) > MAX_STEPS:
            return False
        return next((rule.allows for rule in self.rules if path.startswith(rule.start) and rule.matches(path)), True)


EVERYTHING = Robots()
NOTHING = Robots((_Rule.of("/", allows=False),))


def _is_us(agent: str) -> bool:
    return re.split(r"[^a-z_-]", agent, maxsplit=1)[0] == TOKEN


def _normalised(path: str) -> str:
    """Normalise the percent-encoding of a path (RFC 9309 2.2.2)."""
    quoted = quote(path, safe="!#$%&'()*+,/:;=?@[]~._-")
    return _ESCAPED.sub(lambda match: _spelt(int(match[1], 16)), quoted)


def _spelt(octet: int) -> str:
    character = chr(octet)
    return character if octet < 128 and (character.isalnum() or character in "-._~") else f"%{octet:02X}"
