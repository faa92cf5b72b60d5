"""The two universal curves of optimal refreshing, turned round: how often an object is refreshed at a given multiplier.

An object with lambda updates per period, refreshed f times at regular intervals, has r = lambda / f. Of all
allocations of a budget the best gives each object the same weighted gain from one more refresh, the multiplier mu:

    freshness   w (1 - (1+r) e^-r) / lambda = mu                  i.e. r - ln(1+r) = -ln(1 - mu lambda / w)
    age         w (r^2/2 - 1 + (1+r) e^-r) / lambda^2 = mu

so that r depends on one number only, and one table each serves all objects (theorems 5.5, 6.3 and 6.4 say the same by
scaling curves). The freshness gained by the first refresh is finite: an object with mu lambda / w >= 1 gets nothing.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", sections 5.3, 5.4 and 6.
"""

from functools import cache

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Cubics
from bestbefore.policies.units import FloatArray

MOST_SURPRISE = 80.0
"""The freshness table reaches to s = r - ln(1+r) = 80."""
LEAST_LOG_V, MOST_LOG_V = -72.0, 72.0
"""The age table reaches from r = 5e-11 to r = 6e15; beyond, ln r is straight to 1e-11."""
SMALL_R = 0.05
"""Below, differences of nearly equal numbers are replaced by their Taylor series, whose 12 terms are then exact."""


def surprise(r: FloatArray) -> FloatArray:
    """s(r) = r - ln(1+r) >= 0 for r >= 0, exact to a few units of the last place also near 0."""
    power, series = r * r, np.zeros_like(r)
    for k in range(2, 14):
        series += power / k if k % 2 == 0 else -power / k
        power = power * np.minimum(r, SMALL_R)
    s: FloatArray = np.where(r < SMALL_R, series, r - np.log1p(r))
    return s


def ratio_of_surprise(s: FloatArray) -> FloatArray:
    """r with r - ln(1+r) = s, for s >= 0 of any size: Newton's method in sqrt(s), in which r is nearly straight."""
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
    """q / r over q = sqrt(s): 1/sqrt(2) at q = 0, towards 1/q later; f = lambda (q/r) / q. Relative error 3e-13."""

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
    """ln r with v(r) = e^log_v, for log_v in [-300, 300], by Newton's method: in logarithms both ends are straight."""
    log_r: FloatArray = np.where(log_v < 0.0, (log_v + np.log(3.0)) / 3.0, (log_v + np.log(2.0)) / 2.0)
    for _ in range(30):
        r = np.exp(log_r)
        v = age_gain(r)
        log_r = log_r - (np.log(v) - log_v) * v / (-r * r * np.expm1(-r))
    return log_r


@cache
def age_curve() -> Cubics:
    """ln r over ln v. Error 1e-12, and so is the relative error of f = lambda / r."""
    return Cubics(log_ratio_of_age_gain, LEAST_LOG_V, MOST_LOG_V, 8192)
