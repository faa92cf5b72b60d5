"""The share of stale hits by estimate, where a policy controls it: only there are the counts kept that it needs."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from bestbefore.addon.admin.report import CONFIDENCE
from bestbefore.addon.admin.summary import DomainCounts
from bestbefore.addon.proxy.exchange.expiry_evaluator import controlled_name
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.validation.machinery.control import state_of

MOST_GROUPS = 5
"""The groups shown: those of the busiest domains."""


@dataclass(frozen=True, slots=True)
class StaleShare:
    """The stale hits among the requests of a group that found a copy."""

    group: str
    target: float
    """The share that the configuration wants."""
    requests: int
    estimate: float
    low: float | None
    """The bounds of a confidence interval; None: validations have shown too few."""
    high: float | None


async def stale_shares(store: Store, rules: Rules, domains: DomainCounts, now_s: float) -> tuple[StaleShare, ...]:
    """Return the shares in the groups of the busiest domains whose policy controls them."""
    found: dict[str, StaleShare] = {}
    for domain, _ in domains.busiest(4 * MOST_GROUPS)[0]:
        rule = rules.rule_for(domain, "/")
        target = rule.policy.stale_rate
        group = rule.group_of(domain, "")
        if not target or group in found or len(found) == MOST_GROUPS:
            continue
        state = state_of(await store.stale.of(controlled_name(group, rule), now_s), target)
        if not state.requests:
            continue
        estimate = state.stale / state.requests
        low, high = factors(state.shown) if state.shown else (None, None)
        found[group] = StaleShare(
            group,
            target,
            state.requests,
            estimate,
            None if low is None else estimate * low,
            None if high is None else estimate * high,
        )
    return tuple(found.values())


def factors(shown: float) -> tuple[float, float]:
    """Return the bounds of the mean of a Poisson count, over the count (positive), at `CONFIDENCE`.

    The estimate is in proportion to the stale hits that validations have shown. Source: Garwood 1936, the quantiles of
    chi-squared by Wilson and Hilferty 1931.

    >>> [round(factor, 2) for factor in factors(100)]
    [0.81, 1.22]
    """
    z, above = NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0), shown + 1.0
    low = max(1.0 - 1.0 / (9.0 * shown) - z / (3.0 * math.sqrt(shown)), 0.0) ** 3
    high = above / shown * (1.0 - 1.0 / (9.0 * above) + z / (3.0 * math.sqrt(above))) ** 3
    return low, high
