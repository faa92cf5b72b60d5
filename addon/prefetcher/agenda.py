"""The open jobs of a plan: future ones, and due ones that wait for their turn."""

from collections.abc import Callable, Iterable, Iterator

from bestbefore.addon.store.plan import Job


class Agenda:
    """Future and due jobs. Of each object only the latest due job is kept; each domain has its most valuable job first.

    So jobs that cannot be done in time are those of least value: they wait until the next job of their object replaces
    them.
    """

    def __init__(self, domain_of: Callable[[str], str]) -> None:
        """`domain_of`: URL -> registrable domain."""
        self._domain_of = domain_of
        self._to_come: list[Job] = []
        """The future jobs, the next one last."""
        self._due: dict[str, dict[str, Job]] = {}
        """The due jobs: domain -> URL -> job."""

    def load(self, jobs: Iterable[Job]) -> None:
        """Replace all jobs."""
        self._to_come = sorted(jobs, key=lambda job: job.due_s, reverse=True)
        self._due = {}

    def collect(self, now_s: float) -> int:
        """Move jobs that have become due; return how many were dropped for a later one of their object."""
        dropped = 0
        while self._to_come and self._to_come[-1].due_s <= now_s:
            dropped += self.put(self._to_come.pop())
        return dropped

    def put(self, job: Job) -> bool:
        """Add a due job; whether a job of its object was dropped for it, or it for a later one."""
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
        """The number of due jobs."""
        return sum(map(len, self._due.values()))

    def domains(self) -> Iterator[str]:
        """Yield the domains with due jobs, the one with the most valuable job first."""
        best = {domain: max(job.gain for job in jobs.values()) for domain, jobs in self._due.items() if jobs}
        return iter(sorted(best, key=lambda domain: -best[domain]))

    def take(self, domain: str) -> Job:
        """Remove and return the most valuable due job of a domain, which must have one."""
        waiting = self._due[domain]
        job = max(waiting.values(), key=lambda job: (job.gain, -job.due_s))
        del waiting[job.url]
        if not waiting:
            del self._due[domain]
        return job
