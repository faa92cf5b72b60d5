"""The outcome of a request: one word for log, metrics and summary."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a request."""

    HIT = "hit"
    """From the store, without contact."""
    VALIDATED = "validated"
    """From the store, after the origin said that the copy is current. (The answer to a HEAD is the origin's own.)"""
    UPDATED = "updated"
    """A copy was validated and the origin sent a new one."""
    PASSED_ON = "passed-on"
    """A copy was validated and the origin sent something else, an error or a redirect, which was passed on."""
    MISS = "miss"
    """There was no copy to use."""
    BYPASS = "bypass"
    """Forwarded, neither answered from the store nor stored."""
    STALE = "stale"
    """From the store although stale, since the origin could not answer."""
    REFUSED = "refused"
    """Answered by the proxy itself with an error: not allowed, no copy and no contact wanted, or no origin."""
