"""The due fetches that wait for their turn: for politeness to their domain, or for the budget."""

from collections.abc import Iterator
from dataclasses import dataclass

MOST_OF_A_DOMAIN = 100
"""How many fetches of one domain wait here; the schedule keeps the others."""


@dataclass(frozen=True, slots=True)
class Job:
    """A fetch that is due."""

    url: str
    due_s: float
    """Policy time."""
    contact_s: float
    """The last contact that the schedule knew: after a later one the fetch is not needed."""
    asked_from: tuple[str, ...] = ()
    """The ranges of private addresses from which clients have requested the object."""


class DueJobs:
    """Due jobs by domain, each in the order in which they came."""

    def __init__(self) -> None:
        self._due: dict[str, dict[str, Job]] = {}
        """Domain -> URL -> job. The domain that has waited longest is first."""
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def number(self, domain: str) -> int:
        """Return how many jobs of a domain wait."""
        return len(self._due.get(domain, ()))

    def put(self, domain: str, job: Job) -> None:
        """Add a job, in place of one of the same object."""
        jobs = self._due.setdefault(domain, {})
        self._number += job.url not in jobs
        jobs[job.url] = job

    def domains(self) -> Iterator[str]:
        """Yield the domains with due jobs."""
        return iter(list(self._due))

    def take(self, domain: str) -> Job:
        """Remove and return the first job of a domain, which must have one; the domain is then the last."""
        jobs = self._due.pop(domain)
        job = jobs.pop(next(iter(jobs)))
        if jobs:
            self._due[domain] = jobs
        self._number -= 1
        return job
