"""The outcome of a request, for log, metrics and summary."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a request."""

    HIT = "hit"
    """Served from the store, without contact."""
    VALIDATED = "validated"
    """Served from the store, after the origin confirmed the copy. (A HEAD gets the origin's own response.)"""
    UPDATED = "updated"
    """A copy was validated and the origin sent a new one."""
    REFETCHED = "refetched"
    """A copy was validated and the origin sent the same content again."""
    PASSED_ON = "passed-on"
    """A copy was validated and the origin sent something else, such as an error or a redirect, which was forwarded."""
    MISS = "miss"
    """There was no usable copy."""
    BYPASS = "bypass"
    """Forwarded without use of the cache."""
    STALE = "stale"
    """Served stale from the store, since the origin failed."""
    REFUSED = "refused"
    """Answered with an error of the proxy's own: access denied, no contact allowed, or the origin failed."""
