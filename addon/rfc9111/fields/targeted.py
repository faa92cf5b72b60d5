"""Targeted cache-control fields (RFC 9213): directives for certain caches, which replace Cache-Control and Expires."""

from collections.abc import Iterable, Sequence
from typing import Any

import http_sf

from bestbefore.addon.rfc9111.message import Fields

CDN_CACHE_CONTROL = "cdn-cache-control"
"""The registered targeted field, for caches in front of an origin."""

_SECONDS = frozenset(("max-age", "s-maxage", "stale-if-error", "stale-while-revalidate"))
_FLAGS = frozenset((
    *("immutable", "must-revalidate", "must-understand", "no-store", "no-transform", "proxy-revalidate", "public"),
))
_FLAGS_OR_NAMES = frozenset(("no-cache", "private"))


def governing(fields: Fields, targeted: Sequence[str]) -> Fields:
    """Return the fields of a response with those that govern its caching (RFC 9213 2.2).

    `targeted`: the lower-case names of the fields that this cache obeys, in order. The directives of the first that is
    present, valid and not empty replace Cache-Control and Expires; without any, the fields are unchanged. The result is
    used for decisions only: all fields are stored and forwarded as received.
    """
    for name in targeted:
        value = fields.get(name)
        directives = None if value is None else _directives(value)
        if directives is not None:
            return fields.without(("cache-control", "expires")).added(("Cache-Control", directives))
    return fields


def _directives(value: str) -> str | None:
    """Convert a dictionary (RFC 9651 3.2) into the syntax of Cache-Control; None for a field to be ignored.

    A field is ignored if it is empty or malformed, or has an invalid value for its directive (RFC 9213 2.1), such as
    `max-age="60"`. Parameters and unknown directives are ignored.
    """
    try:
        members: Any = http_sf.parse(value.encode("latin-1", "replace"), tltype="dictionary")
    except (ValueError, OverflowError):
        return None
    known = [(name, argument) for name, (argument, _) in members.items() if _is_known(name)]
    if not members or not all(_is_valid(name, argument) for name, argument in known):
        return None
    return ", ".join(_written(known))


def _is_known(name: str) -> bool:
    return name in _SECONDS or name in _FLAGS or name in _FLAGS_OR_NAMES


def _is_valid(name: str, argument: object) -> bool:
    # By the exact type: in Python a Boolean is a number, and a token is a string.
    if name in _SECONDS:
        return type(argument) is int and argument >= 0
    return argument is True or (name in _FLAGS_OR_NAMES and type(argument) is str)


def _written(directives: Iterable[tuple[str, int | str]]) -> Iterable[str]:
    for name, argument in directives:
        if argument is True:
            yield name
        elif isinstance(argument, str):
            escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
            yield f'{name}="{escaped}"'
        else:
            yield f"{name}={argument}"
