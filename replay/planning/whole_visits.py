"""The gains and the least numbers of visits for a plan in whole numbers, under Poisson updates."""

import math

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED
from bestbefore.policies.prefetch.discrete.gains import Gains, PoissonGains
from bestbefore.policies.prefetch.discrete.waiting_gains import WaitingGains
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray


def whole_budget(budget: float) -> int:
    """Return the budget. Raises ValueError if it is not a whole number of contacts that can be planned."""
    if budget != math.floor(budget):
        raise ValueError(f"the budget is {budget:g}, expected a whole number of contacts per period (--discrete)")
    if budget > UNBOUNDED:
        raise ValueError(f"the budget is {budget:g}, expected at most {UNBOUNDED:,} contacts (--discrete)")
    return int(budget)


def whole_of_owner(most: float) -> int:
    """Return the most contacts of an owner as a whole number. Raises ValueError if that is none."""
    whole = math.floor(most * (1.0 + 1e-12))  # a period of 0.3 s has three intervals of 0.1 s
    if whole < 1:
        raise ValueError(
            f"a domain may have {most:g} contacts per period: expected an interval of at most a period "
            "(--per-host-interval, with --discrete)"
        )
    return whole


def gains_for(objective: str, rates: FloatArray, weights: FloatArray, boundary: Boundary) -> Gains:
    """Return the gains of objects with these rates and weights, (n,), for an objective."""
    if objective == "freshness":
        return PoissonGains(rates, weights, boundary)
    return (WaitingGains.of_age if objective == "age" else WaitingGains.of_delay)(rates, weights, boundary)


def needing(rates: FloatArray, weights: FloatArray) -> np.ndarray:
    """Return which objects, (n,), have an infinite age and delay without a contact."""
    some: np.ndarray = (rates > 0.0) & (weights > 0.0)
    return some


def least_visits(
    objective: str, boundary: Boundary, rates: FloatArray, weights: FloatArray, least: IntArray, most: IntArray
) -> IntArray:
    """(n,) the least visits, raised to one where age or delay would be infinite in a plan that repeats."""
    if objective == "freshness" or boundary != "periodic":
        return least
    return np.where(needing(rates, weights), np.minimum(np.maximum(least, 1), most), least)


def refuse_small_budget(objective: str, budget: float, needs: int, least: int) -> None:
    """Raise ValueError for a budget below the sum of the least visits, of which `needs` objects need one each."""
    if least > budget:
        raise ValueError(
            f"the budget is {budget:g}, but for the objective {objective} each of the {needs:,} "
            f"objects that change needs a contact in each period (with the minimums {least:,} contacts): "
            "expected a larger budget or a longer --period, --boundary interval, or no --discrete"
        )
