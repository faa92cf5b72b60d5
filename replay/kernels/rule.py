"""A policy in numbers, for kernels that know no classes."""

import math
from enum import IntEnum
from typing import NamedTuple

from bestbefore.policies.validation.baselines.aimd import Aimd
from bestbefore.policies.validation.baselines.always import Always
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.baselines.miniflux import Miniflux
from bestbefore.policies.validation.baselines.never import Never
from bestbefore.policies.validation.baselines.nutch import Nutch
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.baselines.squid import Squid
from bestbefore.policies.validation.baselines.stormcrawler import StormCrawler
from bestbefore.policies.validation.machinery.bounds import LEAST_EXPOSURE_H, Bounded
from bestbefore.policies.validation.machinery.fallback import Fallback, GroupMember, LastUpdate
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indagg import IndAgg
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.indttl import IndTtl
from bestbefore.policies.validation.rules.ttl import Ttl


class Kind(IntEnum):
    """The rules that can decide."""

    TTL = 0
    INDHIST = 1
    AGGHIST = 2
    INDAGG = 3
    """AGGHIST or INDHIST."""
    INDTTL = 4
    """TTL or INDHIST."""
    INTERVAL = 5
    """The same lifetime always: `fixed`, `always` (0) and `never` (infinite)."""
    ORACLE = 6
    SQUID = 7
    MINIFLUX = 8
    FALLBACK_TTL = 9
    FALLBACK_GROUP = 10
    BOOTSTRAP = 11
    NUTCH = 12
    STORMCRAWLER = 13
    AIMD = 14


class Rule(NamedTuple):
    """The parameters of a policy and of what bounds it, in the units of their classes; those it has not are 0."""

    kind: Kind
    theta: float = 0.0
    segment_penalty: float = 0.0
    alpha: float = 0.0
    window_s: float = 0.0
    threshold: float = 0.0
    interval_s: float = 0.0
    """The first, of those that adapt it."""
    keeps_interval: bool = False
    """Whether each interval is made from the last one of the same copy."""
    factor: float = 0.0
    """Squid's percent, or the factor of Miniflux or AIMD."""
    step_s: float = 0.0
    increase: float = 0.0
    decrease: float = 0.0
    sync: float = 0.0
    """Nutch's; with the 0 of all others `nutch_expiry_s` is the moment and the interval together."""
    min_s: float = 0.0
    max_s: float = 0.0
    min_ttl_s: float = -math.inf
    max_ttl_s: float = math.inf
    bootstrap_s: float = 0.0
    history_window_s: float = math.inf
    least_exposure_h: float = 0.0
    falls_back: bool = False
    """Whether `first`, else `second`, else the bootstrap decides while hardly any update is known."""
    first: Kind = Kind.BOOTSTRAP
    second: Kind = Kind.BOOTSTRAP
    fallback_alpha: float = 0.0
    fallback_theta: float = 0.0

    @property
    def needs_groups(self) -> bool:
        """Whether it ever looks at the group."""
        return self.kind in (Kind.AGGHIST, Kind.INDAGG) or (
            self.falls_back and Kind.FALLBACK_GROUP in (self.first, self.second)
        )


def rule_of(policy: Policy) -> Rule | None:
    """The policy in numbers; None for one that no kernel knows."""
    if not isinstance(policy, Bounded):
        return _bare(policy)
    rule = _bare(policy.policy)
    if rule is None:
        return None
    fallbacks = policy.fallback or ()
    if len(fallbacks) > 2:  # one is named twice
        return None
    first, second = [*(_FALLBACKS[type(fallback)] for fallback in fallbacks), Kind.BOOTSTRAP, Kind.BOOTSTRAP][:2]
    return rule._replace(
        min_ttl_s=policy.min_ttl_s,
        max_ttl_s=policy.max_ttl_s,
        bootstrap_s=policy.bootstrap_s,
        history_window_s=policy.history_window_s,
        least_exposure_h=0.0 if policy.fallback is None else LEAST_EXPOSURE_H,
        falls_back=bool(fallbacks) and policy.policy.wants_fallback,
        first=first,
        second=second,
        fallback_alpha=next((f.alpha for f in fallbacks if isinstance(f, LastUpdate)), 0.0),
        fallback_theta=next((f.theta for f in fallbacks if isinstance(f, GroupMember)), 0.0),
    )


_FALLBACKS: dict[type[Fallback], Kind] = {LastUpdate: Kind.FALLBACK_TTL, GroupMember: Kind.FALLBACK_GROUP}


def _bare(policy: Policy) -> Rule | None:
    match policy:
        case Ttl():
            return Rule(Kind.TTL, alpha=policy.alpha)
        case IndHist():
            return Rule(Kind.INDHIST, theta=policy.theta)
        case AggHist():
            return Rule(Kind.AGGHIST, theta=policy.theta, segment_penalty=policy.segment_penalty)
        case IndAgg():
            return Rule(Kind.INDAGG, theta=policy.theta, threshold=policy.threshold)
        case IndTtl():
            return Rule(
                Kind.INDTTL, policy.theta, alpha=policy.alpha, window_s=policy.window_s, threshold=policy.threshold
            )
        case Fixed():
            return Rule(Kind.INTERVAL, interval_s=policy.interval_s)
        case Always():
            return Rule(Kind.INTERVAL, interval_s=0.0)
        case Never():
            return Rule(Kind.INTERVAL, interval_s=math.inf)
        case Oracle():
            return Rule(Kind.ORACLE)
        case Squid():
            return Rule(Kind.SQUID, factor=policy.percent, min_s=policy.min_s, max_s=policy.max_s)
        case Miniflux():
            return Rule(Kind.MINIFLUX, factor=policy.factor, min_s=policy.min_s, max_s=policy.max_s)
        case _:
            return _keeping_interval(policy)


def _keeping_interval(policy: Policy) -> Rule | None:
    match policy:
        case Nutch():
            rule = Rule(Kind.NUTCH, interval_s=policy.initial_s, increase=policy.increase, decrease=policy.decrease)
            rule = rule._replace(sync=policy.sync)
        case StormCrawler():
            rule = Rule(Kind.STORMCRAWLER, interval_s=policy.initial_s)
            rule = rule._replace(increase=policy.increase, decrease=policy.decrease)
        case Aimd():
            rule = Rule(Kind.AIMD, factor=policy.factor, step_s=policy.step_s)
        case _:
            return None
    return rule._replace(keeps_interval=True, min_s=policy.min_s, max_s=policy.max_s)
