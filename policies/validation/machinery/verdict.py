"""The verdict of a validation policy, and the words for its reason."""

import math
from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """The reason of a decision that was not the policy's own. For that, the policy names reasons: see `Policy.reasons`.

    A reason is log field, metric label, detail of Cache-Status and word of the reports.
    """

    BOOTSTRAP = "bootstrap"
    """Nothing that could decide is known."""
    FALLBACK_TTL = "fallback_ttl"
    """Too little is known for the policy; the time since the last update decided."""
    FALLBACK_GROUP = "fallback_group"
    """Too little is known for the policy; the rate of the group decided."""
    MIN_TTL = "min_ttl"
    MAX_TTL = "max_ttl"


BOOTSTRAP, FALLBACK_TTL, FALLBACK_GROUP, MIN_TTL, MAX_TTL = range(-5, 0)
"""The places of these reasons, from the end: what a decision says, as compiled code knows numbers alone."""


class Decision(NamedTuple):
    """The result of a policy's function: numbers alone, so that it can be compiled."""

    expiry_s: float
    """The first moment, in Unix seconds, at which the copy must be validated; infinite: never."""
    reason: int
    """The place of the word for what decided in the policy's `reasons`, or one of the numbers above."""
    state: float
    """What the policy is given at the next contact for this copy; NaN if it keeps no state."""


def expires(expiry_s: float) -> Decision:
    """The decision of a policy that has one reason and keeps no state."""
    return Decision(expiry_s, 0, math.nan)


def expires_by(reason: int, expiry_s: float) -> Decision:
    """Return the decision of a policy that chooses among rules, for the reason at this place."""
    return Decision(expiry_s, reason, math.nan)


def expires_keeping(state: float, expiry_s: float) -> Decision:
    """Return the decision of a policy that keeps a state for the next contact."""
    return Decision(expiry_s, 0, state)


class Verdict(NamedTuple):
    """The time until which a copy may be served without contact."""

    expiry_s: float
    """The first moment, in Unix seconds, at which the copy must be validated; infinite: never."""
    reason: str
    """The word for what decided: one of the policy's, or a `Reason`."""
    state: float | None = None
    """What the policy needs at the next contact for this copy (`ContactOutcome`); None if it keeps no state."""
