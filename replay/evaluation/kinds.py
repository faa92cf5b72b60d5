"""The kind of an object by the pattern of its updates, for breakdowns of results; no policy reads it."""

from collections.abc import Mapping

import numpy as np

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray

KIND = "kind"
BURSTY, CYCLIC, MIXED = "bursty", "cyclic", "mixed"
NOT_UNIFORM = 41.638
"""The 0.99 quantile of chi-square with 23 degrees of freedom."""


def kind_of(times_s: FloatArray) -> str:
    """Return the kind of an object with these updates, ascending.

    Bursty: more than half of them lie within 24 hours. Cyclic: their hours of the day are not uniform (chi-square,
    p < 0.01). Mixed: the others.
    """
    within = times_s.searchsorted(times_s + DAY_S) - np.arange(len(times_s))
    if 2 * int(within.max(initial=0)) > len(times_s):
        return BURSTY
    counts = np.bincount((times_s % DAY_S // HOUR_S).astype(np.intp), minlength=BINS)
    expected = len(times_s) / BINS
    return CYCLIC if float(((counts - expected) ** 2).sum()) > NOT_UNIFORM * expected else MIXED


def kinds_of(times_s: Mapping[str, FloatArray]) -> dict[str, str]:
    """Return the kind of each object, with its updates by name."""
    return {name: kind_of(own_s) for name, own_s in times_s.items()}
