"""Cache-Status: how this cache handled a request (RFC 9211)."""

import math
import re
from enum import StrEnum

NAME = "bestbefore"

_SF_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
_SF_INTEGER_MAX = 10**15 - 1


class Fwd(StrEnum):
    """The reason why a request was forwarded (RFC 9211 2.2)."""

    BYPASS = "bypass"
    """The cache is configured not to handle such requests."""
    METHOD = "method"
    URI_MISS = "uri-miss"
    VARY_MISS = "vary-miss"
    """There are copies of the URL, but none for these request fields."""
    MISS = "miss"
    REQUEST = "request"
    """There is a fresh copy, but the request did not allow its use."""
    STALE = "stale"
    PARTIAL = "partial"
    """Only a part of the requested content is stored."""


def hit(*, ttl_s: float | None = None, detail: str = "") -> str:
    """Return this cache's member for a request that was not forwarded; `ttl_s` is negative for a stale copy."""
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
    """Return this cache's member for a request that was forwarded.

    `fwd_status`: the status from the next hop, if another was sent to the client. `ttl_s`: of the response as stored.
    `collapsed`: the request shared another one's contact.
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
    """Write a token if possible, else a string (RFC 9211 2.8), with `?` for characters that are not allowed in it."""
    if not text or _SF_TOKEN.fullmatch(text):
        return text and f"detail={text}"
    printable = "".join(char if " " <= char <= "~" else "?" for char in text)
    return 'detail="{}"'.format(printable.replace("\\", "\\\\").replace('"', '\\"'))
