"""URL patterns, as far as compression dictionaries use them: without regular expressions (RFC 9842 2.1.1)."""

import re
from collections.abc import Iterator

from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rfc9111.patterns import matches_stars

LONGEST = 1024
"""The longest pattern, in characters."""
MAX_WILDCARDS = 8
"""The most wildcards of a pattern."""
LONGEST_PATH = 256
"""The longest path that a pattern with names matches, in characters."""
_SYNTAX = frozenset("\\{}()+?#")
"""Characters with a meaning that is not understood here; a pattern with one of them matches nothing."""
_NAME = r":[A-Za-z_$][\w$]*"
_WILDCARD = re.compile(rf"(\*|{_NAME})")
_REPEATED = re.compile(rf"{_NAME}\*")


def matches(pattern: str, base: Target, target: Target) -> bool:
    """Whether a pattern, relative to the URL of the response that declares it, matches a URL of the same origin.

    Paths are understood, with `*` for any text and `:name` for any without `/`, at least one character. A query is not
    compared, as the pattern has none.
    """
    if target.origin != base.origin or len(pattern) > LONGEST:
        return False
    path = pattern.removeprefix(base.origin) if pattern.startswith(f"{base.origin}/") else pattern
    n_wildcards = path.count("*") + path.count(":")
    if n_wildcards > MAX_WILDCARDS or not _SYNTAX.isdisjoint(path) or path.startswith("//"):
        return False
    directory = "" if path.startswith("/") else base.path.partition("?")[0].rpartition("/")[0] + "/"
    if ":" not in path and "*" not in directory:
        return matches_stars(directory + path, target.path.partition("?")[0])
    first, *rest = _WILDCARD.split(path)
    wildcards, literals = rest[::2], rest[1::2]
    if any(":" in literal for literal in (first, *literals)) or _REPEATED.search(path):
        return False
    return _matches_names(directory + first, list(zip(wildcards, literals, strict=True)), target.path.partition("?")[0])


def _matches_names(first: str, rest: list[tuple[str, str]], path: str) -> bool:
    """Whether a path begins with `first`, and then has what each wildcard matches and the literal after it."""
    if len(path) > LONGEST_PATH or not path.startswith(first):
        return False
    ends = [len(first)]
    for wildcard, literal in rest:
        starts = range(ends[0], len(path) + 1) if wildcard == "*" else _after_name(ends, path)
        ends = [start + len(literal) for start in starts if path.startswith(literal, start)]
        if not ends:
            return False
    return ends[-1] == len(path)


def _after_name(ends: list[int], path: str) -> Iterator[int]:
    """Yield the places, ascending, up to which a name can match that begins at one of these, ascending."""
    slash = -1
    for end in ends:
        if end > slash:  # what an earlier one reaches in the same segment includes this one's
            slash = path.find("/", end)
            slash = len(path) if slash < 0 else slash
            yield from range(end + 1, slash + 1)
