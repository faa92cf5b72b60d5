"""The most likely rate of change, smoothed so that it is neither 0 nor infinite.

To the contacts are added s changed and s unchanged ones of mean length. The usual s is 0.5, which for equal intervals
is Jeffreys' prior for the share of unchanged contacts.
"""

import math
from dataclasses import replace

import numpy as np
from compared.contact_evidence import evidence_at_contacts
from numpy.typing import NDArray
from scipy.optimize import brentq

from bestbefore.policies.models.rates.evidence import Estimate
from bestbefore.policies.models.rates.likelihood import FARTHEST, most_likely
from bestbefore.policies.units import HOUR_S, FloatArray


def smoothed_rate(lengths_s: FloatArray, changed: NDArray[np.bool_], smoothing: float = 0.5) -> Estimate:
    """Estimate the rate from n > 0 contacts: (n,) the time since the one before, and whether the object had changed.

    The confidence interval is that of `most_likely`, without smoothing.
    """
    seen = evidence_at_contacts(lengths_s, changed)
    mean_h = float(np.mean(lengths_s)) / HOUR_S
    open_h = seen.open_h + smoothing * mean_h
    changed_h = np.append(seen.changed_h, mean_h)
    weights = np.append(np.ones(seen.changed_h.size), smoothing)

    def slope(u: float) -> float:
        expected = np.minimum(math.exp(u) * changed_h, FARTHEST)
        return float(weights @ (expected / np.expm1(expected))) - open_h * math.exp(u)

    changes = float(weights.sum())
    low, high = math.log(changes / (open_h + 0.5 * float(weights @ changed_h))), math.log(changes / open_h)
    return replace(most_likely(seen), rate_per_hour=math.exp(brentq(slope, low, high, xtol=1e-12)))
