"""The rules of a site for robots (RFC 9309).

Our own reading: the standard library's `urllib.robotparser` knows neither `*` and `$` in paths nor that the longest
rule wins, and so would fetch what sites have ruled out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from bestbefore.addon.rules import matches_stars

TOKEN = "bestbefore"  # noqa: S105 - our name in robots.txt
MOST_BYTES = 500 * 1024
"""RFC 9309 2.5: more is not read."""
MOST_STEPS = 4_000_000
"""For each `*` of the rules each character of a path may have to be looked at. A path for which that is more than this
(a tenth of a second) is taken as forbidden: a hundred characters need 40,000 `*`, a thousand 4,000."""
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: str
    allows: bool
    start: str
    """The pattern up to its first `*` or `$`, which rules out most."""

    @classmethod
    def of(cls, pattern: str, *, allows: bool) -> Self:
        return cls(pattern, allows, pattern.partition("*")[0].removesuffix("$"))

    def matches(self, path: str) -> bool:
        """A pattern without `$` at its end says how a path begins."""
        ends = self.pattern.endswith("$")
        return matches_stars(self.pattern[:-1] if ends else self.pattern + "*", path)


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin that concern us."""

    rules: Sequence[_Rule] = ()
    """Those that win first: the longest, and of equals `allow`."""
    stars: int = 0
    """How many `*` they have."""

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The rules of the groups for us or, without any, of those for all. What cannot be read is skipped."""
        ours: list[_Rule] = []
        everybodys: list[_Rule] = []
        named = False
        for_us = for_all = in_rules = False  # of the group that is being read
        for line in content[:MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
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
            elif key in ("allow", "disallow"):
                in_rules = True
                if value:
                    rule = _Rule.of(_normalised(value), allows=key == "allow")
                    ours += [rule] if for_us else []
                    everybodys += [rule] if for_all else []
        rules = sorted(ours if named else everybodys, key=lambda rule: (-len(rule.pattern), not rule.allows))
        return cls(rules, sum(rule.pattern.count("*") for rule in rules))

    def allows(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched: the longest rule that matches says so; of equals `allow`."""
        path = _normalised(path)
        if path == "/robots.txt":
            return True
        if self.stars * len(path) > MOST_STEPS:
            return False
        return next((rule.allows for rule in self.rules if path.startswith(rule.start) and rule.matches(path)), True)


EVERYTHING = Robots()
NOTHING = Robots((_Rule.of("/", allows=False),))


def _is_us(agent: str) -> bool:
    return re.split(r"[^a-z_-]", agent, maxsplit=1)[0] == TOKEN


def _normalised(path: str) -> str:
    """Return the path with equivalent octets spelt alike (RFC 9309 2.2.2)."""
    quoted = quote(path, safe="!#$%&'()*+,/:;=?@[]~._-")
    return _ESCAPED.sub(lambda match: _spelt(int(match[1], 16)), quoted)


def _spelt(octet: int) -> str:
    character = chr(octet)
    return character if octet < 128 and (character.isalnum() or character in "-._~") else f"%{octet:02X}"
