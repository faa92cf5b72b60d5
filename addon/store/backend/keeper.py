"""The interface of the state that a backend keeps for prefetching, and that proxies share.

All proxies on a store share leases, the spacing of fetches and the budget. Times to live are real seconds, as the death
of a process does not depend on policy time. Methods raise `UnavailableError` and `UnwritableError`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

WANTS_KEPT = 5_000
"""For how many objects of a registrable domain the wants of a day are counted."""
WANTS_KEPT_DAYS = 8
"""For how many days (UTC) wants are kept."""
DONE = -1.0
"""The result of `take` for a job that is done."""


class Want(NamedTuple):
    """An object that clients have requested, and the range of their addresses."""

    url: str
    asked_from: str
    """The range of private addresses in which the client is; empty for a public one."""


class Keeper(Protocol):
    """The interface of the state for prefetching."""

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> None:
        """Add to the counts of a day since the epoch."""

    def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        """Yield the counts of these days, in parts; a day may occur several times."""

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Remove the wants of some URLs, and the marks of their finished jobs. The plan is kept."""

    async def plan_version(self) -> str:
        """Return the version of the current plan; empty if there is none."""

    async def plan(self) -> bytes | None:
        """Return the current plan."""

    async def put_plan(self, version: str, plan: bytes) -> None:
        """Replace the plan."""

    async def lead(self, holder: str, lease_s: float) -> bool:
        """Try to get, or renew, the lease for planning; whether the holder has it."""

    async def take(self, url: str, due_s: float, holder: str, lease_s: float, interval_s: float) -> float:
        """Try to get the lease of a job: the fetch of an object that is due at `due_s`.

        Returns 0: the holder has the lease, and no other job of the domain can be taken within the interval. Above 0:
        try again after so many seconds. `DONE`: this job, or a later one of the object, is done.
        """

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        """Prolong the lease; False if it has ended."""

    async def finish(self, url: str, holder: str, due_s: float, keep_s: float) -> None:
        """Mark the job as done, for `keep_s`; does nothing if the lease has ended."""

    async def release(self, url: str, holder: str) -> None:
        """Release the lease of a job that was not done."""

    async def pause(self, domain: str, wait_s: float) -> None:
        """Prevent all processes from taking jobs of this domain for `wait_s`."""

    async def spend(self, period: int, since: int, most: int) -> bool:
        """Count a fetch in a period, unless there were `most` in the periods from `since` on; False if not counted."""

    async def spent(self, since: int) -> int:
        """Return how many fetches were counted in the periods from `since` on."""
