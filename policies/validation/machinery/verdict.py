"""What a validation policy answers, and the words for why."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The rule that decided: log field, metric label, detail of Cache-Status and word of the reports."""

    TTL = "ttl"
    INDHIST = "indhist"
    AGGHIST = "agghist"
    FALLBACK_TTL = "fallback_ttl"
    """Too little is known for the policy; the time since the last update decided."""
    FALLBACK_GROUP = "fallback_group"
    """Too little is known for the policy; the rate of the group decided."""
    BOOTSTRAP = "bootstrap"
    """Nothing that could decide is known."""
    MIN_TTL = "min_ttl"
    MAX_TTL = "max_ttl"
    ORACLE = "oracle"
    ALWAYS = "always"
    NEVER = "never"
    FIXED = "fixed"
    SQUID = "squid"
    MINIFLUX = "miniflux"
    NUTCH = "nutch"
    STORMCRAWLER = "stormcrawler"
    AIMD = "aimd"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Until when a copy may be served without asking the origin."""

    expiry_s: float
    """The first moment, in Unix seconds, at which the copy must be validated; infinite: never."""
    reason: Reason
    state: float | None = None
    """What the policy is to be told at the next contact for this copy (`Outcome`); None if it keeps no state."""
