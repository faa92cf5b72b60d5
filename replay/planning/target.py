"""The least budget with which a plan reaches a target."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from bestbefore.addon.admin.units import span
from bestbefore.policies.prefetch.allocation.root import falling_root
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.validation.machinery.spec import parse_duration
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan, best_plan, means

TOLERANCE = 1e-6
"""Of the logarithm of age, delay, or one minus freshness."""
SPAN = 1e12
"""Budgets are searched up to this many times the updates, and down to this part of them."""
MOST_LOG = 700.0
MOST_VISITS = 1 << 40


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """The value that a plan is to reach."""

    measure: str
    """A name of `OBJECTIVES`."""
    value: float
    """A share of time between 0 and 1, or seconds."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `freshness=0.8`, `age=2h` or `delay=10m`. Raises ValueError."""
        measure, _, value = (part.strip() for part in text.partition("="))
        if measure not in OBJECTIVES:
            raise ValueError(text)
        found = float(value) if measure == "freshness" else parse_duration(value)
        if not 0.0 < found < (1.0 if measure == "freshness" else math.inf):
            raise ValueError(text)
        return cls(measure, found)

    def __str__(self) -> str:
        return f"{self.measure}={self.shown(self.value)}"

    def shown(self, value: float) -> str:
        """Format a value of this measure."""
        return f"{value:.4g}" if self.measure == "freshness" else span(value)

    def excess(self, reached: float) -> float:
        """How far a value is from the target, on a logarithmic scale; 0 or less where it reaches it."""
        if self.measure == "freshness":
            return _log((1.0 - reached) / (1.0 - self.value))
        return _log(reached / self.value)

    def reached(self, plan: ContactPlan) -> float:
        """The value that a plan has: a share of time, or seconds."""
        return means(plan)[self.measure] * (1.0 if self.measure == "freshness" else plan.aim.period_s)


def budget_for(objects: PlannedObjects, aim: Aim, target: PlanTarget) -> float:
    """Return the least budget with which the best plan for the aim reaches the target; that of the aim is ignored.

    Raises ValueError if no budget reaches it, and what `best_plan` raises.
    """

    def reached(budget: float) -> float:
        return target.reached(best_plan(objects, replace(aim, budget=budget)))

    least = 0.0 if objects.minimum is None else float(objects.minimum.sum())
    most = math.inf if objects.maximum is None else float(objects.maximum.sum())
    return budget_reaching(target, reached, least, most, float(objects.rates.sum()), discrete=aim.discrete)


def budget_reaching(
    target: PlanTarget, reached: Callable[[float], float], least: float, most: float, updates: float, *, discrete: bool
) -> float:
    """Return the least budget, between the sums of the minimums and of the maximums, whose plan reaches the target.

    `reached` returns the value of the plan for a budget; `updates` are those of all objects. Raises ValueError if no
    budget reaches the target, and what `reached` raises.
    """
    if most < math.inf and target.excess(reached(most)) > TOLERANCE:
        raise ValueError(
            f"no budget reaches {target}: at best {target.shown(reached(most))}, with the most contacts that the "
            f"objects allow, {most:g}"
        )

    def excess(budget: float) -> float:
        return target.excess(reached(budget))

    if discrete:
        return _whole(excess, math.ceil(least))
    scale = max(updates, least, 1e-9)
    low, high = math.log(max(least, scale / SPAN)), math.log(scale * SPAN)
    best = reached(math.exp(high))
    if target.excess(best) > TOLERANCE:
        raise ValueError(f"no budget reaches {target}: at best {target.shown(best)}")
    return _real(excess, scale, low, high)


def _real(excess: Callable[[float], float], scale: float, low: float, high: float) -> float:
    """The least budget between the exponentials of `low` and `high`, of which that of `high` is enough."""
    if excess(math.exp(low)) <= 0.0:
        return math.exp(low)
    return math.exp(falling_root(lambda x: excess(math.exp(max(x, low))), math.log(scale), -1.0, TOLERANCE, high).high)


def _whole(excess: Callable[[float], float], least: int) -> float:
    """The least whole budget, by doubling and halving; one too small for the aim counts as not enough."""

    def is_enough(budget: int) -> bool:
        try:
            return excess(float(budget)) <= TOLERANCE
        except RowError:
            raise
        except ValueError:
            return False

    low, high = max(least, 1) - 1, max(least, 1)
    while not is_enough(high):
        low, high = high, 2 * high
        if high > MOST_VISITS:
            raise ValueError("no budget reaches the target")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(high)


def _log(ratio: float) -> float:
    return min(max(math.log(ratio), -MOST_LOG), MOST_LOG) if ratio > 0.0 else -MOST_LOG
