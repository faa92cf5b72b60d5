"""The search for shares of pages by change interval that reproduce the values printed in Table VII."""

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb

import numpy as np

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.units import FloatArray

INTERVALS_DAYS = np.array([1.0, 7.0, 30.0, 120.0, 365.0])
"""For the bars of Figure 17: up to a day, a week, a month, four months; no change in four months counts as a year."""
REFRESHES_PER_DAY = 1.0 / 30.0
"""The mean refreshes of a page per day."""


def simple_values(shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """(n,) the freshness and the age, in days, of the proportional and of the uniform policy; shares are (n, 5)."""
    rates = 1.0 / INTERVALS_DAYS
    same = np.full(5, REFRESHES_PER_DAY)
    mean_rate = shares @ rates
    refreshes = np.full(len(mean_rate), REFRESHES_PER_DAY)
    # f_i = f lambda_i / lambda: the same r for all, and an age in proportion to 1 / lambda_i (equation 11)
    proportional_age = (shares @ INTERVALS_DAYS) * mean_rate * objectives.age(mean_rate, refreshes)
    return (
        objectives.freshness(mean_rate, refreshes), proportional_age,
        shares @ objectives.freshness(rates, same), shares @ objectives.age(rates, same),
    )


def optimal(shares: FloatArray, faster: float = 1.0) -> tuple[float, float]:
    """The optimal freshness and the optimal age, days, of pages whose rates are multiplied by `faster`.

    A group with share p is treated as one element with p times the rate, weight and refreshes, which has the same r.
    For age its weight is p^2.
    """
    some = shares > 0.0
    share, rates = shares[some], faster * shares[some] / INTERVALS_DAYS[some]
    for_freshness = continuous.freshness(rates, share, REFRESHES_PER_DAY)
    for_age = continuous.age(rates, share**2, REFRESHES_PER_DAY)
    return (float(share @ objectives.freshness(rates, for_freshness)), float(share**2 @ objectives.age(rates, for_age)))


def all_shares(parts: int) -> FloatArray:
    """(n, 5) all five shares with the sum 1 that are multiples of 1 / parts, in lexical order."""
    bars = np.fromiter(
        chain.from_iterable(combinations(range(parts + 4), 4)), np.int16, count=4 * comb(parts + 4, 4)
    ).reshape(-1, 4)
    return (np.diff(bars, axis=1, prepend=-1, append=parts + 4) - 1) / parts


def nearest(shares: FloatArray, printed: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return the shares whose simple values are closest to the four printed ones, and their distances.

    The distance is the largest difference of the four, in units of the last printed digit.
    """
    distance = np.zeros(len(shares))
    for text, values in zip(printed, simple_values(shares), strict=True):
        unit = 10.0 ** -len(text.partition(".")[2])
        distance = np.maximum(distance, np.abs(values - float(text)) / unit)
    return shares[int(distance.argmin())], distance
