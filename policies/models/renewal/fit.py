"""Maximum likelihood fits of laws to the update intervals of an object, and the goodness of each fit.

`censored` is the time since the last update: a censored interval, of which only a lower bound is known. It is part of
every likelihood; without it the rates of objects that change rarely would be overestimated.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, RenewalLaw, Weibull, checked_intervals
from bestbefore.policies.units import FloatArray

REJECTED = 2.492
"""The Anderson-Darling A^2 that a sample of the law itself exceeds with probability 5 percent; a fitted law exceeds it
less often."""
ENOUGH = 20
"""The least number of intervals for which the empirical law replaces a rejected parametric law."""
MOST_SHAPE = 100.0
"""The largest shape of a Weibull law: all intervals are then equal to within some percent."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A law with its maximum likelihood parameters, and the goodness of the fit."""

    law: RenewalLaw
    log_likelihood: float
    """ln L of the intervals and of the censored interval; -infinite for `Empirical`, which has no density."""
    aicc: float
    """2 p - 2 ln L + 2 p (p+1) / (n-p-1) for p parameters; smaller is better. Infinite if n <= p+1."""
    anderson_darling: float
    """The Anderson-Darling statistic A^2 of the intervals; 0 is a perfect fit."""


def fit_poisson(intervals: Iterable[float], censored: float = 0.0) -> Fit:
    """Fit a Poisson process: rate = n / (the time observed)."""
    seen = checked_intervals(intervals)
    law = Poisson(len(seen) / (float(seen.sum()) + _checked(censored)))
    return _fit(law, 1, seen, censored)


def fit_weibull(intervals: Iterable[float], censored: float = 0.0) -> Fit:
    """Fit a Weibull law: its shape k solves sum(t^k ln t) / sum(t^k) - 1/k = mean of ln(interval).

    The sums include the censored interval, the mean does not.
    """
    seen = checked_intervals(intervals)
    times = np.append(seen, _checked(censored)) if censored else seen
    unit = float(times.max())
    logs, mean_log = np.log(times / unit), float(np.log(seen / unit).mean())

    def score(k: float) -> float:
        powers = np.exp(k * logs)
        return float((powers * logs).sum() / powers.sum()) - 1.0 / k - mean_log

    shape = brentq(score, 1e-3, MOST_SHAPE, xtol=1e-12) if score(MOST_SHAPE) > 0.0 else MOST_SHAPE
    scale = unit * float(np.exp(shape * logs).sum() / len(seen)) ** (1.0 / shape)
    return _fit(Weibull(shape, scale), 2, seen, censored)


def fit_pareto(intervals: Iterable[float], censored: float = 0.0) -> Fit | None:
    """Fit a Pareto law: shape = n / sum(ln(1 + t/scale)) at the most likely scale; None where that law has no mean.

    With a growing scale the law tends to a Poisson process; the search ends at 1e6 times the longest interval.
    """
    seen = checked_intervals(intervals)
    times = np.append(seen, _checked(censored)) if censored else seen

    def shape_at(log_scale: float) -> float:
        return len(seen) / float(np.log1p(times * math.exp(-log_scale)).sum())

    def cost(log_scale: float) -> float:
        spread = float(np.log1p(seen * math.exp(-log_scale)).sum())
        return spread - len(seen) * (math.log(shape_at(log_scale)) - log_scale)

    bounds = (math.log(float(seen.min())) - 14.0, math.log(float(times.max())) + 14.0)
    best = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    shape = shape_at(best.x)
    return _fit(Pareto(shape, math.exp(best.x)), 2, seen, censored) if shape > 1.0 else None


def fit_empirical(intervals: Iterable[float]) -> Fit:
    """Take the intervals themselves as the law; a censored interval has no part in it."""
    law = Empirical.of(intervals)
    return Fit(law, -math.inf, math.inf, 0.0)


def fit_best(intervals: Iterable[float], censored: float = 0.0) -> Fit:
    """Return the fit with the least AICc among Poisson, Weibull and Pareto; for two intervals or fewer, Poisson.

    If that law is rejected (A^2 > 2.492) and there are 20 intervals or more, return the `Empirical` law.
    """
    seen = checked_intervals(intervals)
    fits = [fit_poisson(seen, censored)]
    if len(seen) > 2:
        fits += [fit for fit in (fit_weibull(seen, censored), fit_pareto(seen, censored)) if fit is not None]
    best = min(fits, key=lambda fit: fit.aicc)
    return fit_empirical(seen) if best.anderson_darling > REJECTED and len(seen) >= ENOUGH else best


def anderson_darling(law: RenewalLaw, intervals: FloatArray) -> float:
    """A^2 = -n - sum (2i-1)/n (ln G(t_i) + ln(1 - G(t_(n+1-i)))), where t, (n,), are the intervals by length."""
    n = len(intervals)
    log_tail = law.log_tail(np.sort(intervals))
    with np.errstate(divide="ignore"):
        log_below = np.log(-np.expm1(log_tail))
    return float(-n - ((2.0 * np.arange(1, n + 1) - 1.0) / n * (log_below + log_tail[::-1])).sum())


def _fit(law: Poisson | Weibull | Pareto, parameters: int, seen: FloatArray, censored: float) -> Fit:
    log_likelihood = float(law.log_density(seen).sum() + law.log_tail(np.array([censored])).sum())
    spare = len(seen) - parameters - 1
    penalty = 2.0 * parameters * (1.0 + (parameters + 1) / spare) if spare > 0 else math.inf
    return Fit(law, log_likelihood, penalty - 2.0 * log_likelihood, anderson_darling(law, seen))


def _checked(censored: float) -> float:
    if not (math.isfinite(censored) and censored >= 0.0):
        raise ValueError(f"the time since the last update is {censored}, expected a number from 0 up")
    return censored
