"""The prior distribution of the rates of change in a group: a Gamma distribution fitted to the members' evidence.

The fit maximises the marginal likelihood, the likelihood of the evidence integrated over each member's rate: so members
with little evidence have little influence, and members never found changed count too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.likelihood import LogLikelihood
from bestbefore.policies.units import FloatArray

LEAST_SHAPE = 0.05
MOST_SHAPE = 100.0
"""The prior of a group of equal members, or of a single one, has the weight of 100 updates of the object itself."""
STEP = 0.05
"""The step of the grid over ln lambda: the width of the likelihood of 400 updates, for which a sum still approximates
the integral well. The rate of a member with thousands of updates is rounded to half a step."""
BEYOND = 12.0
"""How far the grid reaches below the least rate that is likely, in ln lambda: to exp(-12) expected updates."""
PASSES = 500
"""The most passes of expectation and maximisation."""
CONVERGED = 1e-5
"""The relative change of shape and mean below which the passes end."""


@dataclass(frozen=True, slots=True)
class GammaRate:
    """A Gamma distribution of a rate, density ~ lambda^(shape-1) exp(-lambda hours): `shape` updates in `hours`."""

    shape: float
    """Above 0. The standard deviation is the mean over sqrt(shape)."""
    hours: float
    """Above 0."""

    def __post_init__(self) -> None:
        if not (0.0 < self.shape < math.inf and 0.0 < self.hours < math.inf):
            raise ValueError(f"shape {self.shape} and hours {self.hours} must both be above 0")

    @property
    def mean_per_hour(self) -> float:
        """The mean rate, updates per hour."""
        return self.shape / self.hours


def fitted_prior(members: Sequence[Evidence]) -> GammaRate:
    """Fit the Gamma distribution with the largest marginal likelihood; its shape lies in [0.05, 100].

    The method is expectation and maximisation: compute the members' posterior means of lambda and ln lambda, then take
    the Gamma distribution with these means. A pass costs O(members x 700); each interval with an update at an unknown
    time costs O(700) once.

    Raises ValueError if no member was found changed, or none was observed unchanged for any time, since any mean near
    0, or any large one, then fits.
    """
    likelihoods = [LogLikelihood.of(seen) for seen in members if not seen.is_empty]
    changes = sum(likelihood.changes for likelihood in likelihoods)
    open_h = sum(likelihood.open_h for likelihood in likelihoods)
    if not changes or not open_h:
        raise ValueError(f"{changes:g} changes and {open_h:g} open hours in the whole group give no mean rate")
    u = _grid(likelihoods)
    logs = np.stack([likelihood.on(u) for likelihood in likelihoods])
    rates = np.exp(u)
    hidden_h = sum(float(likelihood.changed_h.sum()) for likelihood in likelihoods)
    prior = GammaRate(1.0, (open_h + 0.5 * hidden_h) / changes)
    for _ in range(PASSES):
        joint = logs + (prior.shape * u - prior.hours * rates)
        weights = np.exp(joint - joint.max(axis=1, keepdims=True))
        share = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        mean, mean_log = float(share @ rates), float(share @ u)
        shape = _shape(math.log(mean) - mean_log)
        following = GammaRate(shape, shape / mean)
        if abs(shape / prior.shape - 1.0) + abs(mean / prior.mean_per_hour - 1.0) < CONVERGED:
            return following
        prior = following
    return prior


def _grid(likelihoods: Sequence[LogLikelihood]) -> FloatArray:
    """Points in ln lambda that cover all rates that are likely given the evidence."""
    hours = [likelihood.open_h + float(likelihood.changed_h.sum()) for likelihood in likelihoods]
    shortest_h = min(
        min(float(likelihood.changed_h.min()) for likelihood in likelihoods if likelihood.changed_h.size)
        if any(likelihood.changed_h.size for likelihood in likelihoods)
        else math.inf,
        min(likelihood.open_h / max(likelihood.updates, 1.0) for likelihood in likelihoods if likelihood.open_h),
    )
    return np.arange(-math.log(max(hours)) - BEYOND, math.log(20.0 / shortest_h) + STEP, STEP)


def _shape(gap: float) -> float:
    """The shape, within its limits, of the Gamma distribution with ln E[lambda] - E[ln lambda] = `gap`.

    The gap is ln(shape) - digamma(shape), which decreases in the shape; bisection over ln(shape) inverts it.
    """
    low, high = math.log(LEAST_SHAPE), math.log(MOST_SHAPE)
    for _ in range(50):
        middle = 0.5 * (low + high)
        if middle - _digamma(math.exp(middle)) > gap:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def _digamma(x: float) -> float:
    """The digamma function of x > 0, to 1e-12: its recurrence up to 10, then its asymptotic series."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    return shift + math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
