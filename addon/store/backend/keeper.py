"""The interface of what a backend keeps for prefetching, and how several proxies share it.

Leases, the spacing of fetches and the budget are one matter of all proxies on a store. Times to live are real seconds:
a process that was killed is as dead under a fast clock. Methods raise `UnavailableError` and `UnwritableError`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

WANTS_KEPT = 5_000
"""Of how many objects of a registrable domain the wants of a day are counted."""
WANTS_KEPT_DAYS = 8
"""For how many days (UTC)."""
DONE = -1.0
"""The answer of `take` for what was done already."""


class Want(NamedTuple):
    """An object that clients ask for, and the range of their addresses."""

    url: str
    asked_from: str
    """The range of private addresses in which the client is; empty for a public one."""


class Keeper(Protocol):
    """The interface of what a backend keeps for prefetching."""

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> None:
        """Add to the counts of a day since the epoch."""

    def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        """Days, of these, and what was counted on them, in parts; a day may come several times."""

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the wants of some URLs, and which of their jobs were done. The plan stays."""

    async def plan_version(self) -> str:
        """Return the version of the current plan; empty if there is none."""

    async def plan(self) -> bytes | None:
        """The plan in force."""

    async def put_plan(self, version: str, plan: bytes) -> None:
        """Replace the plan."""

    async def lead(self, holder: str, lease_s: float) -> bool:
        """Whether the holder may plan for all, until the lease ends; it may do so again before."""

    async def take(self, url: str, due_s: float, holder: str, lease_s: float, interval_s: float) -> float:
        """Take the job of fetching an object, due at `due_s`, for the length of a lease.

        0: it is the holder's now, and nothing else of its domain is taken within the interval. Above 0: not yet, come
        back after so many seconds. `DONE`: it, or a later one, was done already.
        """

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        """Prolong the lease; False if it has ended."""

    async def finish(self, url: str, holder: str, due_s: float, keep_s: float) -> None:
        """The job is done, and so remembered for a while; nothing if it is no more the holder's."""

    async def release(self, url: str, holder: str) -> None:
        """Give the job back undone."""

    async def pause(self, domain: str, wait_s: float) -> None:
        """Let no process take a job of this domain for a while."""

    async def spend(self, period: int, since: int, most: int) -> bool:
        """Count one fetch in a period, unless there were `most` in the periods from `since` on; whether it was."""

    async def spent(self, since: int) -> int:
        """Return how many fetches were counted in the periods from `since` on."""
