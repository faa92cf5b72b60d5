"""The ratio r = lambda / f of an optimally refreshed object as a function of the multiplier, for freshness and age.

An object has lambda updates per period and is refreshed f times at regular intervals. In the optimal allocation of a
budget every object gains the same weighted amount from one more refresh, the Lagrange multiplier mu:

    freshness   w (1 - (1+r) e^-r) / lambda = mu                  i.e. r - ln(1+r) = -ln(1 - mu lambda / w)
    age         w (r^2/2 - 1 + (1+r) e^-r) / lambda^2 = mu

So r depends on a single number, and one table for each objective serves all objects (theorems 5.5, 6.3 and 6.4 state
this by scaling curves). The freshness gained by the first refresh is finite: an object with mu lambda / w >= 1 gets no
refresh.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", sections 5.3, 5.4 and 6.
"""

from functools import cache

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Cubics
from bestbefore.policies.units import FloatArray

MOST_SURPRISE = 80.0
"""The largest s = r - ln(1+r) in the freshness table."""
LEAST_LOG_V, MOST_LOG_V = -72.0, 72.0
"""The range of ln v in the age table, from r = 5e-11 to r = 6e15; beyond it ln r is linear to 1e-11."""
SMALL_R = 0.05
"""Below this r, differences that would cancel are replaced by 12 terms of their Taylor series, exact in float64."""


def surprise(r: FloatArray) -> FloatArray:
    """s(r) = r - ln(1+r) >= 0 for r >= 0, exact to a few units in the last place also near 0."""
    power, series = r * r, np.zeros_like(r)
    for k in range(2, 14):
        series += power / k if k % 2 == 0 else -power / k
        power = power * np.minimum(r, SMALL_R)
    s: FloatArray = np.where(r < SMALL_R, series, r - np.log1p(r))
    return s


def ratio_of_surprise(s: FloatArray) -> FloatArray:
    """r with r - ln(1+r) = s for any s >= 0, by Newton's method in sqrt(s), of which r is a nearly linear function."""
    root = np.sqrt(s)
    r: FloatArray = np.sqrt(2.0) * root + s * (2.0 / 3.0)
    for _ in range(60):
        here = np.sqrt(surprise(r))
        # d sqrt(s) / dr = r / (2 (1+r) sqrt(s)), which tends to 1/sqrt(2) at 0
        slope = np.divide(r, 2.0 * (1.0 + r) * here, out=np.full_like(r, np.sqrt(0.5)), where=here > 0.0)
        r = np.maximum(r - (here - root) / slope, 0.0)
    return r


@cache
def freshness_curve() -> Cubics:
    """The table of q / r over q = sqrt(s), from which f = lambda (q/r) / q. Relative error 3e-13."""

    def scaled(q: FloatArray) -> FloatArray:
        return q / ratio_of_surprise(q * q)

    return Cubics(scaled, 0.0, float(np.sqrt(MOST_SURPRISE)), 1024)


def age_gain(r: FloatArray) -> FloatArray:
    """v(r) = r^2/2 - 1 + (1+r) e^-r >= 0 for r >= 0, exact also near 0, where it is r^3/3."""
    small = np.minimum(r, 0.5)
    term, series = small * small / 2.0, np.zeros_like(r)
    for k in range(3, 20):
        term = -term * small / k
        series -= (k - 1) * term
    v: FloatArray = np.where(r < 0.5, series, r * r / 2.0 - 1.0 + (1.0 + r) * np.exp(-r))
    return v


def log_ratio_of_age_gain(log_v: FloatArray) -> FloatArray:
    """ln r with v(r) = e^log_v for log_v in [-300, 300], by Newton's method in logarithms."""
    log_r: FloatArray = np.where(log_v < 0.0, (log_v + np.log(3.0)) / 3.0, (log_v + np.log(2.0)) / 2.0)
    for _ in range(30):
        r = np.exp(log_r)
        v = age_gain(r)
        log_r = log_r - (np.log(v) - log_v) * v / (-r * r * np.expm1(-r))
    return log_r


@cache
def age_curve() -> Cubics:
    """The table of ln r over ln v. Its error, and the relative error of f = lambda / r, is 1e-12."""
    return Cubics(log_ratio_of_age_gain, LEAST_LOG_V, MOST_LOG_V, 8192)
