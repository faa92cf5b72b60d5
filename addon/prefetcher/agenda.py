"""The jobs of a plan that are still to be done: those to come, and those that are due and wait for their turn."""

from collections.abc import Callable, Iterable, Iterator

from bestbefore.addon.store.plan import Job


class Agenda:
    """The jobs to come and those that are due: of each object the latest, of each domain the most valuable first.

    So what cannot be done in time is never what is worth most: a job of little value waits until the next one of
    its object takes its place.
    """

    def __init__(self, domain_of: Callable[[str], str]) -> None:
        """`domain_of`: URL -> registrable domain."""
        self._domain_of = domain_of
        self._to_come: list[Job] = []
        """The next one last."""
        self._due: dict[str, dict[str, Job]] = {}
        """Domain -> URL -> job."""

    def load(self, jobs: Iterable[Job]) -> None:
        """Let these be all."""
        self._to_come = sorted(jobs, key=lambda job: job.due_s, reverse=True)
        self._due = {}

    def collect(self, now_s: float) -> int:
        """Move what has become due; how many jobs were given up for a later one of their object."""
        dropped = 0
        while self._to_come and self._to_come[-1].due_s <= now_s:
            dropped += self.put(self._to_come.pop())
        return dropped

    def put(self, job: Job) -> bool:
        """Add a job that is due; whether one was given up for it, or it for a later one."""
        waiting = self._due.setdefault(self._domain_of(job.url), {})
        other = waiting.get(job.url)
        if other is None or other.due_s < job.due_s:
            waiting[job.url] = job
        return other is not None

    @property
    def next_due_s(self) -> float | None:
        """Return when the next job becomes due; None if there is none."""
        return self._to_come[-1].due_s if self._to_come else None

    @property
    def waiting(self) -> int:
        """The number of jobs that are due."""
        return sum(map(len, self._due.values()))

    def domains(self) -> Iterator[str]:
        """Yield the domains with jobs that are due, the one with the most valuable job first."""
        best = {domain: max(job.gain for job in jobs.values()) for domain, jobs in self._due.items() if jobs}
        return iter(sorted(best, key=lambda domain: -best[domain]))

    def take(self, domain: str) -> Job:
        """The most valuable job of a domain that has one, which is not here any more."""
        waiting = self._due[domain]
        job = max(waiting.values(), key=lambda job: (job.gain, -job.due_s))
        del waiting[job.url]
        if not waiting:
            del self._due[domain]
        return job
