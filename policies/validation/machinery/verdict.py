"""The verdict of a validation policy and its reason."""

import math
from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """The reason of a decision made by the bounds or the fallback; a policy's own reasons are `Formula.reasons`.

    The same word is the log field, the metric label, the detail of Cache-Status and the entry in reports.
    """

    BOOTSTRAP = "bootstrap"
    """Few updates are known and no fallback rule applies: the copy expires after the bootstrap time."""
    FALLBACK_TTL = "fallback_ttl"
    """Few updates are known; the time since the last update decided."""
    FALLBACK_GROUP = "fallback_group"
    """Few updates are known; the rate of the group decided."""
    MIN_TTL = "min_ttl"
    """The lifetime was raised to `min_ttl`."""
    MAX_TTL = "max_ttl"
    """The lifetime was lowered to `max_ttl`."""


BOOTSTRAP, FALLBACK_TTL, FALLBACK_GROUP, MIN_TTL, MAX_TTL = range(-5, 0)
"""The indices of these reasons in `Reason`, counted from its end; compiled code uses the numbers."""


class Decision(NamedTuple):
    """The result of `decide`: numbers only, so that it can be compiled."""

    expiry_s: float
    """The first moment, in Unix seconds, at which the copy must be validated; infinite: never."""
    reason: int
    """The index of the reason in the policy's `reasons`, or one of the negative numbers above."""
    state: float
    """The state passed to the policy at the next contact for this copy; NaN if it keeps no state."""


def expires(expiry_s: float) -> Decision:
    """Return the decision of a policy that has one reason and keeps no state."""
    return Decision(expiry_s, 0, math.nan)


def expires_by(reason: int, expiry_s: float) -> Decision:
    """Return the decision of an adaptive policy, with the index of its reason."""
    return Decision(expiry_s, reason, math.nan)


def expires_keeping(state: float, expiry_s: float) -> Decision:
    """Return the decision of a policy that keeps a state for the next contact."""
    return Decision(expiry_s, 0, state)


class Verdict(NamedTuple):
    """The time until which a copy may be served without contact."""

    expiry_s: float
    """The first moment, in Unix seconds, at which the copy must be validated; infinite: never."""
    reason: str
    """One of the policy's reasons, or a `Reason`."""
    state: float | None = None
    """The state passed to the policy at the next contact for this copy; None if it keeps no state."""
