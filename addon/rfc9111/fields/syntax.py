"""Syntax common to many fields: lists, tokens, quoted strings, seconds (RFC 9110 5.6, RFC 9111 1.2.2)."""

import re

DELTA_MAX_S = 2**31
"""The value of any larger number of seconds (RFC 9111 1.2.2)."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_QUOTED = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*+)"')
_ESCAPE = re.compile(r"\\(.)")
# An unclosed quoted string extends to the end of the line; the parser of the member then finds it malformed.
_MEMBER = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+"?+)*+', re.DOTALL)


def is_token(text: str) -> bool:
    """Whether a text is a token (RFC 9110 5.6.2)."""
    return _TOKEN.fullmatch(text) is not None


def list_members(value: str) -> list[str]:
    """Return the members of a comma-separated list, trimmed, without empty ones (RFC 9110 5.6.1.2).

    A comma in a quoted string is not a separator.

    >>> list_members('a, "b, c" ,, d')
    ['a', '"b, c"', 'd']
    """
    parts = value.split(",") if '"' not in value else _MEMBER.findall(value)
    return [trimmed for part in parts if (trimmed := part.strip(" \t"))]


def unquoted(text: str) -> str | None:
    """Return the content of a quoted string (RFC 9110 5.6.4); None if the text is not exactly one quoted string."""
    match = _QUOTED.fullmatch(text)
    return None if match is None else _ESCAPE.sub(r"\1", match[1])


def delta_seconds(text: str) -> int | None:
    """Parse a number of seconds, at most `DELTA_MAX_S`; None for anything but ASCII digits (RFC 9111 1.2.2)."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    # Check the number of digits first: Python refuses to convert thousands of digits.
    return DELTA_MAX_S if len(digits) > 10 else min(int(digits or "0"), DELTA_MAX_S)
