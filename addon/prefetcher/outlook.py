"""The outlook on a plan: the next fetches, each with its reason and expected gain."""

from dataclasses import dataclass
from itertools import islice

from bestbefore.addon.store.plan import Job, Plan
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import HOUR_S


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fetch to come."""

    url: str
    due_s: float
    """Policy time; earlier than now if it is overdue."""
    gain: float
    """How many requests are expected to get a current answer instead of an outdated one."""
    why: str
    """The reason, as text."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The current plan, at one moment."""

    made_s: float
    until_s: float
    budget_per_day: float
    objective: str
    objects: int
    """How many objects were considered."""
    planned: int
    """How many fetches it has after now."""
    spent_today: int
    """How many fetches all proxies on the store have made in the last 24 hours of the clock."""
    next: tuple[Fetch, ...]


async def outlook(store: Store, now_s: float, most: int = 20, url: str | None = None) -> Outlook | None:
    """Return the current plan and its next `most` fetches, of one object or of all; None if there is no plan.

    Only jobs due after now are listed: an earlier one may have been done by another proxy.
    """
    plan = await store.planning.plan()
    if plan is None:
        return None
    to_come = [job for job in plan.jobs if job.due_s >= now_s and url in (None, job.url)]
    hour = int(now_s // HOUR_S)
    return Outlook(
        plan.made_s,
        plan.until_s,
        plan.budget_per_day,
        plan.objective,
        plan.objects,
        len(to_come),
        await store.planning.spent(hour - 23),
        tuple(Fetch(job.url, job.due_s, job.gain, why(job, plan)) for job in islice(to_come, most)),
    )


def why(job: Job, plan: Plan) -> str:
    """Return why an object is fetched as often as it is."""
    return (
        f"changes {_times(24.0 * job.rate_per_hour)}, asked for {_times(24.0 * job.requests_per_hour)}: "
        f"for {plan.objective} fetched {_times(job.per_day)}"
    )


def _times(per_day: float) -> str:
    """A rate in words: `3.5 times a day`, `once in 4.0 days`."""
    if per_day >= 1.0:
        return f"{per_day:.3g} times a day"
    return f"once in {1.0 / per_day:.3g} days" if per_day > 0.0 else "never"
