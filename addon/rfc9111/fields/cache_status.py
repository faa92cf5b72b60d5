"""Cache-Status: what this cache did with a request (RFC 9211)."""

import math
import re
from enum import StrEnum

NAME = "bestbefore"

_SF_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
_SF_INTEGER_MAX = 10**15 - 1


class Fwd(StrEnum):
    """The reason why a request went on towards the origin (RFC 9211 2.2)."""

    BYPASS = "bypass"
    """The cache is configured not to handle such requests."""
    METHOD = "method"
    URI_MISS = "uri-miss"
    VARY_MISS = "vary-miss"
    """There were copies of the URL, and none for these request fields."""
    MISS = "miss"
    REQUEST = "request"
    """A fresh copy was at hand, but the request did not allow its use."""
    STALE = "stale"
    PARTIAL = "partial"
    """Only a part of what is asked for was at hand."""


def hit(*, ttl_s: float | None = None, detail: str = "") -> str:
    """Our member for a request that was not forwarded; `ttl_s` is negative for a copy served stale."""
    return _member("hit", _ttl(ttl_s), _detail(detail))


def forwarded(
    fwd: Fwd,
    *,
    fwd_status: int | None = None,
    ttl_s: float | None = None,
    stored: bool = False,
    collapsed: bool = False,
    detail: str = "",
) -> str:
    """Our member for a request that was forwarded.

    `fwd_status`: what the next hop answered, if that is not the status sent on. `ttl_s`: of the response as stored.
    `collapsed`: it shared another request's fetch.
    """
    return _member(
        f"fwd={fwd}",
        "" if fwd_status is None else f"fwd-status={fwd_status:d}",
        _ttl(ttl_s),
        "stored" if stored else "",
        "collapsed" if collapsed else "",
        _detail(detail),
    )


def _member(*parameters: str) -> str:
    return "; ".join((NAME, *filter(None, parameters)))


def _ttl(ttl_s: float | None) -> str:
    if ttl_s is None or math.isnan(ttl_s):
        return ""
    return f"ttl={int(min(max(ttl_s, -_SF_INTEGER_MAX), _SF_INTEGER_MAX) // 1)}"


def _detail(text: str) -> str:
    """A token where it can be one, else a string (RFC 9211 2.8), with `?` for what a string cannot hold."""
    if not text or _SF_TOKEN.fullmatch(text):
        return text and f"detail={text}"
    printable = "".join(char if " " <= char <= "~" else "?" for char in text)
    return 'detail="{}"'.format(printable.replace("\\", "\\\\").replace('"', '\\"'))
