"""The allocations and the objectives by name. A new one is a new function, a line here and a test."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.units import FloatArray

Allocate = Callable[[ArrayLike, ArrayLike | None, float], FloatArray]
"""(rates, weights, budget) -> refreshes per period; see `continuous`."""

ALLOCATIONS: Mapping[str, Allocate] = {
    "uniform": continuous.uniform,
    "proportional": continuous.proportional,
    "freshness": continuous.freshness,
    "age": continuous.age,
    "delay": continuous.delay,
}


class Objective(NamedTuple):
    """An objective that a plan can be made for."""

    allocate: Allocate
    """Gives the best allocation."""
    measure: objectives.Measure
    """Gives the objects' expected values at an allocation; `objectives.weighted_mean` of them is the plan's."""
    greatest: bool
    """Whether the best is the greatest; else it is the least."""


OBJECTIVES: Mapping[str, Objective] = {
    "freshness": Objective(continuous.freshness, objectives.freshness, greatest=True),
    "age": Objective(continuous.age, objectives.age, greatest=False),
    "delay": Objective(continuous.delay, objectives.delay, greatest=False),
}
