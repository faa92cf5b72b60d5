"""A plan of contacts per period for an objective, and the baseline plans with which it is compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from bestbefore.policies.models.renewal.laws import Poisson
from bestbefore.policies.prefetch.allocation.bounded import within_bounds
from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.allocation.owned import OwnedDivisions
from bestbefore.policies.prefetch.allocation.parts import InMemory
from bestbefore.policies.prefetch.checked import IntArray, RowError, checked, checked_bounds, checked_budget
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED, best_visits
from bestbefore.policies.prefetch.discrete.continued import COSTS, ContinuedGains, cost_of_rest
from bestbefore.policies.prefetch.discrete.law_visits import best_visits_of_laws
from bestbefore.policies.prefetch.discrete.owned_visits import Visit, visit_by, visits_within
from bestbefore.policies.prefetch.table import ALLOCATIONS, Allocate
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.measures import MEASURES
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.whole_visits import (
    gains_for,
    least_visits,
    needing,
    refuse_small_budget,
    whole_budget,
    whole_of_owner,
)

BASELINES = ("uniform", "proportional")


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of a plan: objective, budget and period."""

    objective: str
    """`freshness`, `age` or `delay`."""
    budget: float
    """Contacts per period, > 0."""
    period_s: float
    discrete: bool = False
    """Whether the contacts of each object are a whole number."""
    boundary: Boundary = "periodic"
    begins_s: float = 0.0
    """When the rest begins that is planned of a longer period, in seconds of that period."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactPlan:
    """A plan: the contacts per period of each object."""

    objects: PlannedObjects
    aim: Aim
    contacts: FloatArray
    """(n,) contacts per period, whole numbers if the aim is discrete."""

    def values(self, measure: str) -> FloatArray:
        """(n,) the expected value of each object by this measure; ages and delays in periods."""
        objects = self.objects
        if objects.since is None:
            return MEASURES[measure](objects, self.contacts, self.aim.boundary)
        cost = cost_of_rest(COSTS[measure], objects.rates, objects.since, self.contacts)
        return 1.0 - cost if measure == "freshness" else cost

    def mean(self, measure: str) -> float:
        """sum(w m) / sum(w). Raises ValueError if no object has a weight above 0."""
        return weighted_mean(self.values(measure), self.objects.weights)

    @property
    def interval_s(self) -> FloatArray:
        """(n,) the mean time between two contacts; infinite without contacts."""
        with np.errstate(divide="ignore"):
            return self.aim.period_s / self.contacts


def best_plan(objects: PlannedObjects, aim: Aim) -> ContactPlan:
    """Make the optimal plan for the aim.

    Raises ValueError for an impossible budget, and a `RowError` for an object whose law is not supported for the aim.
    """
    _refuse_unsuited_laws(objects, aim)
    if not aim.discrete:
        return ContactPlan(objects, aim, _frequencies(ALLOCATIONS[aim.objective], objects, aim.budget))
    return ContactPlan(objects, aim, _visits(objects, aim).astype(np.float64))


def means(plan: ContactPlan) -> Mapping[str, float]:
    """Weighted means over the objects; freshness and age are means of an object, the delay is that of an update."""
    weights, rates = plan.objects.weights, plan.objects.rates
    changing = weighted_mean(rates, weights)
    return {
        "freshness": plan.mean("freshness"),
        "age": plan.mean("age"),
        "delay": plan.mean("delay") / changing if changing > 0.0 else 0.0,
    }


def baseline_plan(name: str, plan: ContactPlan) -> ContactPlan:
    """Make the plan of this name of BASELINES for the same objects, budget and bounds."""
    contacts = baseline_frequencies(name, plan)
    if plan.aim.discrete:
        contacts = rounded_to_whole(contacts)
    return ContactPlan(plan.objects, plan.aim, contacts)


def baseline_frequencies(name: str, plan: ContactPlan) -> FloatArray:
    """(n,) the contacts per period of a baseline plan before rounding to whole numbers."""
    return _frequencies(ALLOCATIONS[name], plan.objects, plan.aim.budget)


def rounded_to_whole(contacts: FloatArray) -> FloatArray:
    """Round contacts to whole numbers with the same total: down, and up those with the largest remainders."""
    whole = np.floor(contacts)
    left = round(float(contacts.sum())) - int(whole.sum())
    if left > 0:
        largest = np.argsort(whole - contacts, kind="stable")[:left]
        whole[largest] += contacts[largest] > whole[largest]
    return whole


def _refuse_unsuited_laws(objects: PlannedObjects, aim: Aim) -> None:
    potential = [row for row, law in objects.laws.items() if isinstance(law, PotentialUpdates)]
    if potential and aim.objective != "freshness":
        problem = f"the model quasi-deterministic is planned for freshness, not for {aim.objective}"
        raise RowError(min(potential), problem)
    if not objects.laws or aim.objective == "delay":  # the delay is the same under all laws with the same mean
        return
    if not aim.discrete:
        raise RowError(min(objects.laws), "a model other than poisson needs --discrete")
    if aim.objective == "age":
        raise RowError(min(objects.laws), "a model other than poisson is planned for freshness or delay, not for age")


def _frequencies(allocate: Allocate, objects: PlannedObjects, budget: float) -> FloatArray:
    if objects.owners is not None:
        columns = PartColumns(
            *checked(objects.rates, objects.weights), objects.minimum, objects.maximum, keeps=True,
            owners=objects.owners.numbers,
        )
        return OwnedDivisions(allocate, InMemory((columns,)), objects.owners.most)(checked_budget(budget))(columns)
    if objects.minimum is None and objects.maximum is None:
        return allocate(objects.rates, objects.weights, budget)
    return within_bounds(allocate, objects.rates, objects.weights, budget, *objects.bounds())


def _visits(objects: PlannedObjects, aim: Aim) -> IntArray:
    budget = whole_budget(aim.budget)
    minimum, maximum = objects.bounds()
    least, most = checked_bounds(minimum, np.minimum(maximum, UNBOUNDED), len(objects))
    if objects.since is not None:
        rest = ContinuedGains(aim.objective, objects.rates, objects.weights, objects.since)
        return best_visits(rest, budget, least, most)
    if aim.objective == "freshness" and objects.laws:
        return _within_owners(partial(_freshest_visits, objects, aim.boundary), objects, budget, least, most)
    if aim.objective != "freshness" and aim.boundary == "periodic":
        least = least_visits(aim.objective, aim.boundary, objects.rates, objects.weights, least, most)
        needs = int(needing(objects.rates, objects.weights).sum())
        refuse_small_budget(aim.objective, aim.budget, needs, int(least.sum()))
    gains = gains_for(aim.objective, objects.rates, objects.weights, aim.boundary)
    if objects.owners is None:
        return best_visits(gains, budget, least, most)
    return _within_owners(visit_by(gains), objects, budget, least, most)


def _within_owners(
    visit: Visit, objects: PlannedObjects, budget: int, least: IntArray, most: IntArray
) -> IntArray:
    owners = objects.owners
    if owners is None:
        return visit(np.arange(len(objects)), budget, least, most)
    return visits_within(visit, budget, least, most, owners.numbers, whole_of_owner(owners.most))


def _freshest_visits(
    objects: PlannedObjects, boundary: Boundary, rows: IntArray, budget: int, least: IntArray, most: IntArray
) -> IntArray:
    # an object without updates gets its minimum
    updated = np.flatnonzero(objects.rates[rows] > 0.0)
    visits = least.copy()
    left = budget - int(least.sum()) + int(least[updated].sum())
    if left < int(least[updated].sum()):
        raise ValueError(f"the budget is {budget} visits, but the least numbers of visits add up to {least.sum()}")
    if not left:
        return visits
    changing = rows[updated]
    laws = [objects.laws.get(row) or Poisson(float(objects.rates[row])) for row in changing.tolist()]
    visits[updated] = best_visits_of_laws(
        laws, objects.weights[changing], left, 1.0, boundary, least[updated], most[updated]
    )
    return visits
