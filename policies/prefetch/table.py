"""The tables of allocations and objectives by name. A new one needs its function, a line here and a test."""

from collections.abc import Mapping
from typing import NamedTuple

from bestbefore.policies.prefetch.allocation import continuous, objectives

Allocate = continuous.Allocation
"""(rates, weights, budget) -> refreshes per period; see `continuous`."""

ALLOCATIONS: Mapping[str, Allocate] = {
    "uniform": continuous.uniform,
    "proportional": continuous.proportional,
    "freshness": continuous.freshness,
    "age": continuous.age,
    "delay": continuous.delay,
}


class Objective(NamedTuple):
    """An objective of a plan: a measure, and the allocation that optimises it."""

    allocate: Allocate
    """Returns the optimal allocation."""
    measure: objectives.Measure
    """Returns the expected value of each object at an allocation; the plan's value is their weighted mean."""
    greatest: bool
    """Whether the measure is maximised; else it is minimised."""


OBJECTIVES: Mapping[str, Objective] = {
    "freshness": Objective(continuous.freshness, objectives.freshness, greatest=True),
    "age": Objective(continuous.age, objectives.age, greatest=False),
    "delay": Objective(continuous.delay, objectives.delay, greatest=False),
}
