"""The order in which the elements of a database are synchronised: freshness and age, in closed form and simulated.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers" (`refresh`), section 4 and Table II, for
N elements which change at the same Poisson rate lambda and are each synchronised f times per unit of time on average;
r = lambda / f. The time W between two synchronisations of an element is

- `fixed`: 1 / f, the same order in each sweep;
- `random`: triangular on [0, 2 / f] (lemma 4.2), a new permutation in each sweep;
- `purely random`: exponential (the law of rare events), any element at each synchronisation.

Table II compares sections 4.1 to 4.3 for many elements. Section 4.4 says that the age of `fixed` at r = 1 is one fourth
of that of `random`; its own formulas give .132, .184 and .500: a fourth of `purely random`.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray


class Order(StrEnum):
    """A synchronisation order."""

    FIXED = "fixed"
    RANDOM = "random"
    PURELY_RANDOM = "purely random"


SERIES_BELOW = 0.5
"""The ratio below which power series replace the closed forms, which cancel."""
SERIES_TERMS = 24


def freshness(order: Order, ratio: float) -> float:
    """The time-averaged freshness, in [0, 1], for r = lambda / f in [0, inf] (Table II).

    Raises ValueError for a ratio that is negative or no number.
    """
    _check(ratio)
    if order is Order.PURELY_RANDOM:
        return 1.0 / (1.0 + ratio)
    if ratio < SERIES_BELOW:
        return _series(order, ratio, first=1, drop=1)
    fresh = -math.expm1(-ratio) / ratio
    return fresh if order is Order.FIXED else (1.0 - fresh) * (1.0 + fresh) / ratio


def age(order: Order, ratio: float) -> float:
    """The time-averaged age in units of 1 / f, the mean time between synchronisations (Table II); errors as before."""
    _check(ratio)
    if order is Order.PURELY_RANDOM:
        return 1.0 / (1.0 + 1.0 / ratio) if ratio else 0.0
    if ratio < SERIES_BELOW:
        return _series(order, ratio, first=3, drop=2)
    stale = -math.expm1(-ratio) / ratio**2
    if order is Order.FIXED:
        return 0.5 - 1.0 / ratio + stale
    return 1.0 / 3.0 + (0.5 - 1.0 / ratio) ** 2 - stale**2


def _check(ratio: float) -> None:
    if not ratio >= 0.0:
        raise ValueError(f"a change ratio of {ratio}: expected 0 or more")


def _series(order: Order, ratio: float, first: int, drop: int) -> float:
    """sum over k >= first of (-1)^(k+1) r^(k-drop) E[(f W)^k] / k!.

    From 1 and less 1 power of r: the integral of exp(-lambda t) over [0, W], averaged, in units of 1 / f. From 3 and
    less 2: that of t - (1 - exp(-lambda t)) / lambda.
    """
    total = 0.0
    for k in range(first, first + SERIES_TERMS):
        moment = 1.0 if order is Order.FIXED else (2.0 ** (k + 2) - 2.0) / ((k + 1) * (k + 2))
        total += (-1.0) ** (k + 1) * ratio ** (k - drop) * moment / math.factorial(k)
    return total


@dataclass(frozen=True, slots=True)
class Simulated:
    """Freshness and age of a simulated database, with their standard errors over its elements."""

    freshness: float
    freshness_error: float
    age: float
    """The age in units of 1 / f."""
    age_error: float


def simulate(order: Order, ratio: float, elements: int, sweeps: int, rng: np.random.Generator) -> Simulated:
    """Simulate N = `elements` in `sweeps` >= 2 sweeps of N steps each, with changes at the rate `ratio` * f.

    A sweep takes 1 / f; see `waits`. Elements without a synchronisation are ignored. Memory: some arrays of `elements`
    x `sweeps` floats.
    """
    _check(ratio)
    if elements < 2 or sweeps < 2:
        raise ValueError(f"{elements} elements and {sweeps} sweeps: expected 2 or more of each")
    element, _, wait = waits(order, elements, sweeps, rng)
    first_change = rng.exponential(size=wait.size) / ratio if ratio else np.full(wait.size, np.inf)
    fresh = np.minimum(first_change, wait)
    aged = (wait - fresh) ** 2 / 2.0
    observed, fresh_sum, aged_sum = (np.bincount(element, w, minlength=elements) for w in (wait, fresh, aged))
    return Simulated(*_ratio_with_error(fresh_sum, observed), *_ratio_with_error(aged_sum, observed))


class Waits(NamedTuple):
    """The time from each synchronisation of an element to its next one; all (m,), grouped by element."""

    element: NDArray[np.intp]
    """The number of the element, from 0."""
    since: FloatArray
    """The time of the synchronisation, in units of 1 / f from the beginning of the run."""
    wait: FloatArray
    """The time to the next one, in units of 1 / f."""


def waits(order: Order, elements: int, sweeps: int, rng: np.random.Generator) -> Waits:
    """N = `elements` synchronised in `sweeps` sweeps of N steps each, 1 / (N f) apart.

    The run is periodic: after an element's last synchronisation comes its first. (Otherwise long times would be
    under-represented.)
    """
    element = _synchronised(order, elements, sweeps, rng)
    step = np.argsort(element, kind="stable")
    element = element[step]
    first = np.diff(element, prepend=-1) > 0
    next_step = np.roll(step, -1)
    next_step[np.roll(first, -1)] = step[first] + step.size
    return Waits(element, step / elements, (next_step - step) / elements)


def _synchronised(order: Order, elements: int, sweeps: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """(elements x sweeps,) the element of each step."""
    match order:
        case Order.FIXED:
            return np.tile(np.arange(elements), sweeps)
        case Order.RANDOM:
            return rng.permuted(np.tile(np.arange(elements), (sweeps, 1)), axis=1).ravel()
        case Order.PURELY_RANDOM:
            return rng.integers(elements, size=elements * sweeps)


def _ratio_with_error(sums: FloatArray, observed: FloatArray) -> tuple[float, float]:
    """The ratio of two sums over elements, and its standard error by the delta method."""
    ratio = float(np.sum(sums) / np.sum(observed))
    residual = sums - ratio * observed
    return ratio, float(np.sqrt(np.sum(residual**2)) / np.sum(observed))
