"""The explicit freshness lifetime of a response (RFC 9111 4.2.1, 4.2.2, 4.2.4)."""

from typing import NamedTuple

from bestbefore.addon.rfc9111.fields.dates import parse_http_date
from bestbefore.addon.rfc9111.fields.directives import CacheControl
from bestbefore.addon.rfc9111.message import Fields

HEURISTIC_STATUSES = frozenset((200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501))
"""The heuristically cacheable statuses of RFC 9110 15.1, without 206: the head of its complete response decides."""

PERMANENT = frozenset((301, 308, 410))
"""Permanent statuses (RFC 9110 15.4.2, 15.4.9, 15.5.11), which a cache can use without a validator."""


class Lifetime(NamedTuple):
    """An explicit freshness lifetime."""

    lifetime_s: float
    """0 or more."""
    source: str
    """The directive or field it comes from: `s-maxage`, `max-age` or `expires`."""


def explicit_lifetime(cache_control: CacheControl, fields: Fields, date_s: float, now_s: float) -> Lifetime | None:
    """Return the first of s-maxage, max-age and Expires minus Date (RFC 9111 4.2.1); None if there is none.

    An Expires that is not a date is in the past (RFC 9111 5.3). Of several Expires lines the first counts.
    """
    if cache_control.s_maxage is not None:
        return Lifetime(cache_control.s_maxage, "s-maxage")
    if cache_control.max_age is not None:
        return Lifetime(cache_control.max_age, "max-age")
    expires = fields.first("expires")
    if expires is None:
        return None
    expires_s = parse_http_date(expires, now_s)
    return Lifetime(0.0 if expires_s is None else max(0.0, expires_s - date_s), "expires")


def heuristics_allowed(status: int, cache_control: CacheControl) -> bool:
    """Whether a response without explicit lifetime may be given one (RFC 9111 4.2.2)."""
    return status in HEURISTIC_STATUSES or cache_control.public


def forbids_stale(cache_control: CacheControl) -> bool:
    """Whether a shared cache must never serve the response stale (RFC 9111 4.2.4).

    s-maxage implies proxy-revalidate (RFC 9111 5.2.2.10), and so forbids it even with stale-while-revalidate.
    """
    return (
        cache_control.no_cache
        or cache_control.must_revalidate
        or cache_control.proxy_revalidate
        or cache_control.s_maxage is not None
    )
