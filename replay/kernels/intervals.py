"""The expiries of many contacts at once by rules that make each interval from the last one of the same copy."""

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import FloatArray
from bestbefore.replay.kernels.rule import Kind, Rule


def kept_expiries_s(
    rule: Rule, t: FloatArray, intervals_s: FloatArray, changed: NDArray[np.bool_], unchanged_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n,) the expiries at t, not yet bounded, and the intervals after those given: twin of
    `deciding.next_interval_s`."""
    if rule.kind is Kind.NUTCH:
        next_s = intervals_s * np.where(changed, 1.0 - rule.decrease, 1.0 + rule.increase)
        next_s = np.where(np.isnan(intervals_s), rule.interval_s, next_s)
        next_s = np.minimum(np.maximum(np.maximum(next_s, unchanged_s), rule.min_s), rule.max_s)
    elif rule.kind is Kind.STORMCRAWLER:
        shrunk_s = (1.0 - rule.decrease) * intervals_s + rule.decrease * rule.min_s
        grown_s = np.minimum((1.0 + rule.increase) * intervals_s, rule.max_s)
        next_s = np.where(np.isnan(intervals_s), rule.interval_s, np.where(changed, shrunk_s, grown_s))
    else:
        next_s = np.where(changed, intervals_s * rule.factor, intervals_s + rule.step_s)
        next_s = np.where(np.isnan(intervals_s), rule.min_s, np.minimum(np.maximum(next_s, rule.min_s), rule.max_s))
    return np.maximum(t, t + next_s - rule.sync * unchanged_s), next_s
