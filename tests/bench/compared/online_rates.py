"""Rates of change estimated contact by contact, at a constant cost and with a state of two or three numbers.

`GammaRate` is a state as well as a prior: it is what is believed of the rate so far. A contact that finds the object
unchanged, or dates its latest update, adapts it exactly. One that only finds a change makes the density a difference of
two Gamma densities,

    lambda^(a-1) (exp(-lambda h) - exp(-lambda (h + L))),

which is replaced by the Gamma density with its mean and variance (assumed-density filtering).

`Polls` is the estimator LLN, after the law of large numbers. It was made for polls at the moments of a Poisson process
of known rate p, of which the share lambda / (lambda + p) finds a change; then it converges. With any other distances it
converges elsewhere: with regular ones to p (exp(lambda / p) - 1).

Source of LLN: Avrachenkov, Patil, Thoppe, "Online algorithms for estimating change rates of web pages" (Performance
Evaluation 153, 2022), with alpha_k = 1, and p taken from the polls themselves. The filter is ours.
"""

import math
from dataclasses import dataclass

from compared.contact_evidence import LEAST_QUIET_S

from bestbefore.policies.models.rates.prior import GammaRate
from bestbefore.policies.units import HOUR_S


def after_contact(
    belief: GammaRate, length_s: float, changed: bool, since_update_s: float | None = None
) -> GammaRate:
    """What is believed after one more contact, `length_s` > 0 after the one before.

    `since_update_s`: how long before the contact the latest update was, if it told; counts only where it `changed`.
    """
    _check(length_s)
    if not changed:
        return GammaRate(belief.shape, belief.hours + length_s / HOUR_S)
    if since_update_s is None:
        return _after_some_update(belief, length_s / HOUR_S)
    if not 0.0 <= since_update_s <= length_s:
        raise ValueError(f"the latest update {since_update_s} s ago is not in the last {length_s} s")
    quiet_s = min(max(since_update_s, LEAST_QUIET_S), length_s)
    return GammaRate(belief.shape + 1.0, belief.hours + quiet_s / HOUR_S)


def _after_some_update(belief: GammaRate, length_h: float) -> GammaRate:
    """The Gamma distribution with the mean and variance of what is believed after an interval with an update."""
    a, h = belief.shape, belief.hours
    shrinkage = math.log1p(length_h / h)
    # The k-th moment is that of the Gamma density times (1 - (h / (h + L))^(a + k)) / (1 - (h / (h + L))^a).
    some, first, second = (-math.expm1(-(a + k) * shrinkage) for k in (0.0, 1.0, 2.0))
    mean = a / h * first / some
    spread = (a + 1.0) / a * some * second / first**2 - 1.0  # variance / mean^2
    return GammaRate(1.0 / spread, 1.0 / (spread * mean))


@dataclass(frozen=True, slots=True)
class Polls:
    """The state of LLN."""

    contacts: int = 0
    changed: int = 0
    hours: float = 0.0

    @property
    def rate_per_hour(self) -> float:
        """p X / (k + 1 - X) after k contacts of which X found a change; 0 before the first."""
        if not self.contacts:
            return 0.0
        return self.contacts / self.hours * self.changed / (self.contacts + 1 - self.changed)

    def after(self, length_s: float, changed: bool) -> "Polls":
        """The state after one more contact, `length_s` > 0 after the one before."""
        _check(length_s)
        return Polls(self.contacts + 1, self.changed + changed, self.hours + length_s / HOUR_S)


def _check(length_s: float) -> None:
    if not 0.0 < length_s < math.inf:
        raise ValueError(f"the contact came {length_s} s after the one before, expected more than 0")
