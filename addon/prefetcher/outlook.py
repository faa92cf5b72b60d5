"""The outlook on a plan: the next fetches, the reason and the expected gain of each."""

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
    """Policy time; before now if it waits for its turn."""
    gain: float
    """Requests that are expected to be answered as the origin would, instead of with what it had before."""
    why: str
    """In words."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The plan in force, as seen at a moment."""

    made_s: float
    until_s: float
    budget_per_day: float
    objective: str
    objects: int
    """How many it was made for."""
    planned: int
    """How many fetches it has from now on."""
    spent_today: int
    """Fetches of the last 24 hours of the clock, by all proxies on the store."""
    next: tuple[Fetch, ...]


async def outlook(store: Store, now_s: float, most: int = 20, url: str | None = None) -> Outlook | None:
    """The plan in force and its next `most` fetches, of one object or of all; None if there is no plan.

    A job that another proxy has done since it was due does not count as to come: only what is due from now on does.
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
