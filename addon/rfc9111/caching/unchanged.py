"""How long a fresh copy gives the same answer to the same request."""

import math

from bestbefore.addon.rfc9111.caching.reuse import Action, Reuse
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request

ROUNDING_S = 1e-5
"""How much earlier the answer counts as changed, since differences of times are rounded."""
_CHANGING = frozenset(("cache-control", "pragma", "range"))
"""Fields of a request that may make the answer depend on the time in other ways, or on chance."""


def unchanged_until_s(request: Request, copy: Copy, reuse: Reuse, now_s: float) -> float:
    """Return until when the same request gets the same answer from the same copies and settings, policy time.

    That is until Age or the remaining lifetime in Cache-Status, both in whole seconds, is another. `reuse` is the
    decision at `now_s`, which is returned if nothing is known. The caller checks what else may change.
    """
    ttl_s = reuse.ttl_s
    if reuse.action is not Action.FRESH or ttl_s is None or not _CHANGING.isdisjoint(request.fields.names()):
        return now_s
    if not copy.current_s <= copy.response_time_s <= now_s:
        return now_s
    until_s = copy.current_s + math.floor(reuse.age_s) + 1
    if math.isfinite(ttl_s):
        until_s = min(until_s, now_s + ttl_s - math.floor(ttl_s))
    if copy.expiry_s is not None and copy.expiry_s > now_s:  # what `shorten` would do is recorded
        until_s = min(until_s, copy.expiry_s)
    return until_s - ROUNDING_S
