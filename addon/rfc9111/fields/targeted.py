"""Targeted cache-control fields (RFC 9213): directives for certain caches, in place of Cache-Control and Expires."""

from collections.abc import Iterable, Sequence
from typing import Any

import http_sf

from bestbefore.addon.rfc9111.message import Fields

CDN_CACHE_CONTROL = "cdn-cache-control"
"""The one that is registered: for the caches that stand in front of an origin."""

_SECONDS = frozenset(("max-age", "s-maxage", "stale-if-error", "stale-while-revalidate"))
_FLAGS = frozenset((
    *("immutable", "must-revalidate", "must-understand", "no-store", "no-transform", "proxy-revalidate", "public"),
))
_FLAGS_OR_NAMES = frozenset(("no-cache", "private"))


def governing(fields: Fields, targeted: Sequence[str]) -> Fields:
    """The fields of a response by which it is decided whether and for how long it may be stored (RFC 9213 2.2).

    `targeted`: the lower-case names of the fields that this cache obeys, in their order. The directives of the first
    that is there, valid and not empty stand in Cache-Control, in place of Cache-Control and Expires; without any, the
    fields are what they are. This is for deciding alone: all fields are stored and passed on as they came.
    """
    for name in targeted:
        value = fields.get(name)
        directives = None if value is None else _directives(value)
        if directives is not None:
            return fields.without(("cache-control", "expires")).added(("Cache-Control", directives))
    return fields


def _directives(value: str) -> str | None:
    """The directives of a dictionary (RFC 9651 3.2), written as in Cache-Control; None for a field to be ignored.

    That is one that is empty or malformed, or has a value that its directive cannot have (RFC 9213 2.1), such as
    `max-age="60"`. Parameters, and directives that we do not know, mean nothing.
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
    # By the exact type: to Python a Boolean is a number, and a token is a string.
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
