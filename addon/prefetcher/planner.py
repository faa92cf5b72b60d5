"""The planner: makes a plan from candidates. Pure: the time is an argument."""

from collections.abc import Iterable, Sequence

import numpy as np

from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.prefetcher.candidates import Candidate
from bestbefore.addon.store.plan import Job, Plan
from bestbefore.policies.models.borrowing import group_priors, posterior_profiles, posterior_rates
from bestbefore.policies.prefetch.visits import ObjectEstimates, VisitConstraints, plan_visits
from bestbefore.policies.units import DAY_S, IntArray

PLANNED_PART = 0.95
"""The part of the budget that is planned. The budget applies to any 24 hours: if all of it were planned, a late fetch
would delay others until the next hour, and these yet others."""
MAX_JOBS = 50_000
"""The most jobs in a plan, which is read and stored as a whole. The plan covers less time if necessary."""


def make_plan(candidates: Sequence[Candidate], settings: PrefetchSettings, now_s: float) -> Plan:
    """Return a plan for the next day, or at least until the planning after the next."""
    until_s = now_s + max(DAY_S, 2.0 * settings.replan)
    budget = settings.budget
    plan = Plan(now_s, until_s, budget.per_day, settings.objective, len(candidates))
    if not candidates:
        return plan
    group = _numbered(candidate.group for candidate in candidates)
    seen = [candidate.seen for candidate in candidates]
    objects = ObjectEstimates(
        rates_per_hour=posterior_rates(seen, group, group_priors(seen, group)),
        profiles=posterior_profiles(np.stack([candidate.hours for candidate in candidates]), group),
        weights_per_hour=np.array([candidate.requests_per_hour for candidate in candidates]),
        last_s=np.minimum([candidate.last_contact_s for candidate in candidates], now_s),
        owner=_numbered(candidate.domain for candidate in candidates),
    )
    evenly = settings.timing == "even"
    constraints = VisitConstraints(
        PLANNED_PART * budget.per_day, settings.objective, settings.per_host_interval, evenly=evenly
    )
    visits = plan_visits(objects, constraints, now_s, until_s)
    jobs = tuple(
        Job(
            url=candidates[i].url,
            due_s=due_s,
            gain=gain,
            per_day=float(visits.per_day[i]),
            rate_per_hour=float(objects.rates_per_hour[i]),
            requests_per_hour=candidates[i].requests_per_hour,
            asked_from=candidates[i].asked_from,
        )
        for i, due_s, gain in zip(visits.number.tolist(), visits.due_s.tolist(), visits.gain.tolist(), strict=True)
    )
    if len(jobs) > MAX_JOBS:
        jobs, until_s = jobs[:MAX_JOBS], jobs[MAX_JOBS].due_s
    return Plan(now_s, until_s, budget.per_day, settings.objective, len(candidates), jobs)


def _numbered(names: Iterable[str]) -> IntArray:
    """Number names from 0, in the order of their first occurrence."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)
