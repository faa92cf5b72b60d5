"""Rates of change by Cho and Garcia-Molina's bias-reduced estimators, in a form for contacts at any distances.

Theirs is for regular polls. Of n contacts, I hours apart, X found a change: -ln((n - X + 0.5) / (n + 0.5)) / I, which
is the most likely rate after half an unchanged contact more. For other distances L_i we ask what takes the first-order
bias out of the most likely rate. Writing p_i = exp(-lambda L_i), q_i = 1 - p_i, the information of a contact is
L_i^2 p_i / q_i, and the bias b (Cox and Snell) and the change of the score that removes it (Firth) are

    b = 1/2 sum(L_i^3 p_i / q_i) / (sum L_i^2 p_i / q_i)^2,        score - 1/2 L* = 0,
    L* = sum(L_i^3 p_i / q_i) / sum(L_i^2 p_i / q_i),

so it is still half an unchanged contact more, of the length L*: the mean of the lengths, each weighted by what its
contact tells of lambda. With equal lengths L* = I, and the estimator is theirs. What is assumed is what they assume
(Poisson updates), and that the distances do not depend on what the contacts find.

Where the latest update is known, contacts have the information q_i / lambda^2, and the same derivation gives

    lambda = (X - 1 + C) / E,        C = lambda sum(L_i p_i) / sum(q_i),

with X changes and E hours unchanged up to the contacts. Theirs for regular polls is printed with
C = -X / (n ln(1 - X/n)); with q = X/n both are 1 - q/2 to first order in q, and 0 where every contact finds a change.

Source: Cho, Garcia-Molina, "Estimating frequency of change" (ACM TOIT 3, 2003), the estimators of existence and of
last-modified; Firth, "Bias reduction of maximum likelihood estimates" (Biometrika 80, 1993).
"""

import math

import numpy as np
from compared.contact_evidence import evidence_at_contacts
from numpy.typing import NDArray

from bestbefore.policies.models.rates.evidence import Estimate
from bestbefore.policies.models.rates.likelihood import FARTHEST, STEPS, LogLikelihood, most_likely
from bestbefore.policies.units import HOUR_S, FloatArray

CLOSE = 1e-8
"""Relative, of the rate: far less than what the order of the correction leaves."""


def corrected_from_flags(lengths_s: FloatArray, changed: NDArray[np.bool_], confidence: float = 0.95) -> Estimate:
    """The bias-reduced rate where contacts tell only "changed or not"; finite also if all of them found a change.

    Arguments as for `evidence_at_contacts`. The equation may have several roots where lengths differ by orders of
    magnitude; this is the largest, next to the most likely rate that is being corrected: L* at that rate gives a lower
    one, which has a longer L*, and so on downwards. The interval is that of `most_likely`.
    """
    seen = evidence_at_contacts(lengths_s, changed)
    interval = most_likely(seen, confidence=confidence)
    if not seen.changes:
        return interval
    lengths_h = np.asarray(lengths_s, dtype=np.float64) / HOUR_S
    rate, previous = interval.rate_per_hour, math.nan
    for _ in range(STEPS):
        more_h = 0.5 * _telling_length_h(lengths_h, rate)
        rate, previous = math.exp(LogLikelihood.of(seen, more_h=more_h).maximum()), rate
        if previous - rate <= CLOSE * rate:
            break
    return Estimate(rate, interval.low_per_hour, interval.high_per_hour)


def corrected_from_latest(
    lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray, confidence: float = 0.95
) -> Estimate:
    """The bias-reduced rate where each contact that found a change also tells when the latest update was.

    Arguments as for `evidence_at_contacts`, with no NaN where the object changed. C is taken at the most likely rate
    X / E, which the first order allows. The interval is that of `most_likely`.
    """
    seen = evidence_at_contacts(lengths_s, changed, since_update_s)
    if seen.changed_h.size:
        raise ValueError(f"{seen.changed_h.size} of the changes have no known time")
    interval = most_likely(seen, confidence=confidence)
    if not seen.updates:
        return interval
    expected = interval.rate_per_hour * np.asarray(lengths_s, dtype=np.float64) / HOUR_S
    unseen = float(np.sum(expected * np.exp(-expected)) / np.sum(-np.expm1(-expected)))
    rate = (seen.updates - 1.0 + unseen) / seen.open_h
    return Estimate(rate, interval.low_per_hour, interval.high_per_hour)


def _telling_length_h(lengths_h: FloatArray, rate_per_hour: float) -> float:
    """L* at a rate above 0; the shortest length at an infinite one."""
    shortest_h = float(lengths_h.min())
    if rate_per_hour == math.inf:
        return shortest_h
    # Without the factor exp(-rate * shortest), which cancels, so that a high rate does not make all weights 0.
    shares = np.exp(-np.minimum(rate_per_hour * (lengths_h - shortest_h), FARTHEST))
    weights = lengths_h**2 * shares / -np.expm1(-rate_per_hour * lengths_h)
    return float(weights @ lengths_h / weights.sum())
