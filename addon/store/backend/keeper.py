"""The interface of the state that a backend keeps for prefetching, and that proxies share.

All proxies on a store share demand, candidates, leases, the spacing of fetches and the budget. Each holds a part of the
candidates, as a lease on shards. Times to live are real seconds, as the death of a process does not depend on policy
time. Methods raise `UnavailableError` and `UnwritableError`.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

WANTS_KEPT = 5_000
"""For how many objects of a registrable domain the wants of a day are counted."""
WANTS_KEPT_DAYS = 8
"""For how many days (UTC) wants are kept."""
SHARDS = 256
"""Into how many shards candidates are divided."""
ANNOUNCED_KEPT = 10_000
"""How many announced objects are kept, the latest."""
ANNOUNCED_KEPT_S = 600.0
PART = 1_000
"""About how many candidates are read at a time."""


class Want(NamedTuple):
    """An object that clients have requested, and the range of their addresses."""

    url: str
    asked_from: str
    """The range of private addresses in which the client is; empty for a public one."""


class Held(NamedTuple):
    """The shards that a process holds."""

    shards: frozenset[int]
    part: int
    """How many it should hold: an even part among the processes that live."""


def digest_of(url: str) -> int:
    """Return 64 bits that stand for an object."""
    return int.from_bytes(hashlib.blake2b(url.encode(errors="surrogatepass"), digest_size=8).digest())


def shard_of(digest: int) -> int:
    """Return the shard of the object with a digest."""
    return digest % SHARDS


class Keeper(Protocol):
    """The interface of the state for prefetching."""

    # Demand

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> Mapping[Want, int]:
        """Add to the counts of a day since the epoch; return the sums."""

    def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        """Yield the counts of these days, in parts; a day may occur several times."""

    async def asked(self, urls: Sequence[str], ranges: Sequence[str], days: Sequence[int]) -> list[dict[str, int]]:
        """Return, for each object, the sums over these days by range, of those asked for."""

    async def announce(self, urls: Collection[str]) -> None:
        """Publish, to the process that holds their shards, that these objects are requested more."""

    async def announced(self, since: int) -> tuple[list[str], int]:
        """Return the objects announced after a position, in order, and the new position."""

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Remove wants, candidates and marks of fetches of some URLs."""

    # Candidates, by shard

    async def hold(self, holder: str, lease_s: float) -> Held:
        """Renew the lease on shards, and take or give back some, so that all live processes hold even parts."""

    async def let_go(self, holder: str) -> None:
        """End the lease."""

    def candidates(self, shard: int) -> AsyncIterator[dict[str, bytes]]:
        """Yield the candidates of a shard by URL, in parts; one may occur twice."""

    async def candidate(self, url: str) -> bytes | None:
        """Return a candidate."""

    async def put_candidates(self, candidates: Mapping[str, bytes | None]) -> None:
        """Set these candidates, by URL; None removes one."""

    async def put_troubles(self, troubles: Mapping[str, bytes | None]) -> None:
        """Set why watched objects could not be fetched, by URL; None removes one."""

    async def troubles(self) -> dict[str, bytes]:
        """Return why watched objects could not be fetched, by URL."""

    async def put_outlook(self, holder: str, outlook: bytes) -> None:
        """Set what a process expects of its schedule."""

    async def outlooks(self) -> list[bytes]:
        """Return what the processes that hold shards expect of their schedules."""

    # Fetches

    async def take(self, url: str, holder: str, lease_s: float, interval_s: float) -> float:
        """Try to get the lease of a fetch.

        Returns 0: the holder has it, and no other fetch of the domain can be taken within the interval. Above 0: the
        domain may be fetched from after so many seconds. Below 0: another holder fetches the object, or has just done
        so, which is forgotten after so many seconds.
        """

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        """Prolong the lease of a fetch; False if it has ended."""

    async def finish(self, url: str, holder: str, keep_s: float) -> None:
        """Mark the fetch as made, for `keep_s`; does nothing if the lease has ended."""

    async def release(self, url: str, holder: str) -> None:
        """Release the lease of a fetch that was not made."""

    async def pause(self, domain: str, wait_s: float) -> None:
        """Prevent all processes from taking fetches of this domain for `wait_s`."""

    async def spend(self, period: int, since: int, most: int) -> bool:
        """Count a fetch in a period, unless there were `most` in the periods from `since` on; False if not counted."""

    async def spent(self, since: int) -> int:
        """Return how many fetches were counted in the periods from `since` on."""

    async def receive(self, period: int, since: int, received_bytes: int) -> None:
        """Count bytes that a fetch received in a period; periods before `since` are forgotten."""

    async def received_bytes(self, since: int) -> int:
        """Return how many bytes were counted in the periods from `since` on."""
