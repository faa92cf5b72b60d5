"""The interface between the parts of the store: values, errors and the one Protocol that each backend implements.

A backend only keeps data: it decides nothing about freshness and has no queue. All methods may raise
`UnavailableError` (it does not answer) and `CommandError` (this one command failed); those that write may also raise
`UnwritableError` (it refuses writes). Each write may be repeated; only requests are counted twice then.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.store.backend.keeper import Keeper
from bestbefore.addon.store.backend.keys import CopyKey
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.backup.entries import SavedState
from bestbefore.addon.store.cache.clock_check import ClockState
from bestbefore.addon.store.counts.copy_counts import CopyCounts
from bestbefore.addon.store.sites.keeper import SiteKeeper
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates

if TYPE_CHECKING:
    from bestbefore.addon.store.contacts.keeper import AskedLease, ContactKeeper

VARIANTS_KEPT = 64
"""How many variants of an object are kept: a Vary on a field that differs for each client must not fill the store."""

type Body = bytes | Path | UnlinkedFile
"""The content of a copy; if it is large, a file."""


class StoreInputError(ValueError):
    """An error in the user's input: the URL, its password, a server that is not Redis, a store of another kind."""


class StoreUnusableError(Exception):
    """The embedded store cannot be used: its directory is not writable, or another proxy holds it."""


class UnavailableError(Exception):
    """The backend cannot be reached now. The message says why."""


class BusyError(UnavailableError):
    """All connections to the backend were in use for too long: it is as well as before, this process is overloaded."""


class UnwritableError(Exception):
    """The backend answers and refuses writes. The message says why."""


class CommandError(Exception):
    """A command failed because of its own data; other commands work. The message says why."""


class FullError(UnwritableError):
    """The backend has no room left."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CopySet:
    """All known variants of one URL."""

    copies: tuple[Copy, ...] = ()
    """In the order of storing, the latest first."""
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    """The bodies in memory, by their digests."""
    complete: bool = field(default=False, compare=False)
    """Whether these are all variants that the backend had when it was read."""
    may_have_parts: bool = field(default=True, compare=False)
    """False if the object is known to have no stored parts (`conditional.parts`)."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The counts of the members of a group, by hours since the epoch, and the sum of their rates."""

    updates: Mapping[int, int]
    starts: Mapping[int, int]
    """The numbers of members, by the hours of their t_0."""
    rates: MemberRates = NO_RATES
    """Of the members, each as of its last contact."""
    generation: int = 0
    """A number that changes with the counts by hours."""


@dataclass(frozen=True, slots=True)
class Versioned:
    """A record and its version in the backend."""

    version: bytes = b""
    """Empty: the backend has none."""
    record: Record | None = None
    at: int = field(default=0, compare=False)
    """When it was written, comparable with the numbers of tombstones; 0: unknown."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The next version of a record and the change of the counts, which are written atomically."""

    url: str
    expected: bytes
    """The version from which it was made."""
    record: Record | None
    """None: the record is removed."""
    gains: Mapping[str, GroupCounts]
    """The changes of counts by label (`keys.label_of`): its own and, if it had another before, that one."""


@dataclass(frozen=True, slots=True)
class Put:
    """A copy to be stored."""

    copy: Copy
    ttl_s: float
    """How long it is kept, in real seconds."""
    body: bytes | UnlinkedFile | None
    """The content; None if it is stored already."""


class KeptCopy(NamedTuple):
    """A stored copy."""

    copy: Copy
    applied: int | None = None
    """The number of the last tombstone that the process which wrote the copy had applied; None if unknown."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """What a backend has of one URL."""

    record: Versioned
    copies: Sequence[KeptCopy] | None = None
    """As `Backend.copies` returns them; None if they were not asked for."""
    equivalent: str | None = None
    """As `Backend.equivalent` returns it."""
    lease_time_s: float | None = None
    """When the lease was taken that was asked for, by the clock of the backend, Unix seconds; None if it was not. What
    was stored before is among the copies then."""


@dataclass(frozen=True, slots=True, order=True)
class Tombstone:
    """An invalidation: copies of these objects that were stored before it are dead.

    Its time is that of its writer's clock, and clocks differ, so the order is decided by numbers: each process applies
    tombstones in the order of their numbers to all its copies, and stores with each copy the number of the last
    tombstone that it had applied.
    """

    time_s: float
    pattern: str
    """The URL of one object, the key of a group (`cache_groups`), or a pattern (`tombstones.matcher`)."""
    exact: bool
    """Whether `pattern` is the URL of one object, or the key of a group."""
    histories: bool = False
    """Whether histories are removed too."""
    by: str = field(default="", compare=False)
    """The name of the process that wrote it; empty in tombstones of earlier versions, which have no numbers."""
    number: int = field(default=0, compare=False)
    """Assigned by the backend; 0: none, so times are compared instead."""
    after: int = field(default=0, compare=False)
    """The number of the tombstone before it."""


class AnnouncedReplacements(Protocol):
    """What proxies on one backend announce to each other: which objects have another content than before."""

    on_replaced: Callable[[Collection[str]], object]
    """Called with the URLs that another proxy has announced."""

    async def announce(self, urls: Collection[str]) -> None:
        """Announce objects, once their copies are stored. Who is not connected misses it."""


class Backend(Protocol):
    """The interface of a backend, which keeps data beyond the life of the process."""

    @property
    def keeper(self) -> Keeper:
        """The backend's part for prefetching."""

    @property
    def sites(self) -> SiteKeeper:
        """The backend's part for sites."""

    @property
    def contacts(self) -> "ContactKeeper":
        """The backend's part for contacts that processes share."""

    @property
    def replaced(self) -> AnnouncedReplacements:
        """The backend's part for what proxies announce to each other of replaced copies."""

    @property
    def learnt(self) -> SavedState:
        """The backend's part for backups."""

    async def connect(
        self, on_tombstone: Callable[[Tombstone], None], on_lost: Callable[[UnavailableError], None]
    ) -> None:
        """Connect to the backend, and check that it may be used. Raises StoreInputError if not.

        From then on `on_tombstone` is called for each tombstone that another process writes, and `on_lost` once when
        the connection is lost. After that `connect` may be called again.
        """

    async def close(self) -> None:
        """Close the connection. The callbacks are not called after that."""

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        """Return the records of these objects, in order."""

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        """Write each record whose version is as expected, together with the change of the counts, atomically.

        Returns for each commit the new version; or the version found, if another was found and nothing was written.
        """

    async def copies(self, url: str) -> list[KeptCopy]:
        """Return all variants of a URL, in all partitions, but none that is missing in the index of its group."""

    async def look_up(self, url: str, *, copies: bool, lease: "AskedLease | None" = None) -> LookUp:
        """Return what the proxy needs of a URL before a contact, in one round trip; the copies only if asked for.

        `lease` is taken before the copies are read.
        """

    async def equivalent(self, url: str) -> str | None:
        """Return another URL with a copy that probably answers requests for this one (No-Vary-Search)."""

    async def dictionaries(self, origin: str) -> list[DictionaryCandidate]:
        """Return the copies of an origin that may be compression dictionaries, at most `CANDIDATES_KEPT`."""

    async def body(self, copy: Copy) -> Body | None:
        """Return the content of a copy; None if it is gone."""

    async def use(self, bodies: Sequence[BodyRef]) -> None:
        """Count these contents, which were used from memory, as used now."""

    async def put(self, puts: Sequence[Put], applied: int = 0) -> None:
        """Store copies, each in place of the stored copy of its variant; not if there is a later tombstone of its URL.

        `applied`: the number of the last tombstone that was applied to them; 0: unknown, so times are compared. A copy
        is not stored either if the present one was received after it (`Copy.was_received_after`): another process may
        have been faster.
        """

    async def add_tombstones(self, tombstones: Sequence[Tombstone], applied: int = 0) -> list[Tombstone]:
        """Store and publish tombstones; remove the copies of those that name one URL or group.

        `applied`: the number of the last that the writer has applied. Returns them with their new numbers.
        """

    async def last_tombstone(self) -> int:
        """Return the number of the last tombstone that was written; 0 if the backend does not number them."""

    async def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of the last `TOMBSTONES_KEPT_S`, the earliest first.

        At most the latest `TOMBSTONES_AT_MOST`.
        """

    async def remove(self, urls: Sequence[str], tombstone: Tombstone) -> int:
        """Remove the copies of these objects that a tombstone invalidates; return how many objects had any."""

    async def counts(self, belongs: Callable[[str], bool], domain: str | None) -> GroupCounts:
        """Return the counts under the labels that belong, of one registrable domain or all."""

    async def tally(self, requests: Mapping[str, int]) -> None:
        """Add to the request counts of these objects."""

    async def demand(self, key: CopyKey) -> CopyCounts | None:
        """Return the counts of a copy; None if nothing is known of it."""

    async def add_demand(self, counts: Mapping[CopyKey, CopyCounts]) -> None:
        """Add to the counts of copies. Those of at most `VARIANTS_KEPT` of an object are kept."""

    async def forget_demand(self, matches: Callable[[str], bool]) -> None:
        """Remove the counts of the copies of some URLs."""

    async def stale_sums(self, group: str) -> Mapping[int, Sequence[int]]:
        """Return the sums of a group by period (`machinery.control`)."""

    async def add_stale_sums(self, sums: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
        """Add to the sums of groups by period."""

    async def top(self, n: int, text: str = "") -> list[tuple[str, int]]:
        """Return the most requested objects, with their counts, in descending order of counts and then of URLs.

        Only those whose URL contains `text`, of either case.
        """

    def requested(self) -> AsyncIterator[list[str]]:
        """Yield the URLs with counted requests, in parts, in no order."""

    async def uncount(self, urls: Sequence[str]) -> None:
        """Remove the request counts of these objects."""

    def recorded(self) -> AsyncIterator[list[tuple[str, float]]]:
        """Yield the URLs that have a record, with the times of their last contacts, in parts, in no order.

        Changes during the iteration may be missed, and a URL may occur twice.
        """

    def copied(self) -> AsyncIterator[list[str]]:
        """Yield the URLs that have copies, in the same way."""

    async def clock_state(self) -> ClockState | None:
        """Return the state of the clock at the last sweep; None before the first."""

    async def put_clock_state(self, state: ClockState) -> None:
        """Store the state of the clock."""

    async def position(self, channel: str) -> bytes | None:
        """Return how far a channel was read, as it was put; None if it never was."""

    async def put_position(self, channel: str, position: bytes) -> None:
        """Store how far a channel was read."""

    async def position_unless(self, channel: str, digest: str) -> bytes | None:
        """Return a position unless this is its SHA-1, in hexadecimal digits; one that never was put is empty."""

    async def swap_position(self, channel: str, digest: str, position: bytes) -> bool:
        """Store a position if this is the SHA-1 of the one before; return whether it was."""

    async def take_sweep(self, interval_s: float) -> bool:
        """Return whether this process is to sweep: of those on the backend one does in each interval, real seconds.

        If another has begun within it, `size_bytes` becomes what the last sweep measured.
        """

    async def tidy(self) -> None:
        """Remove unreferenced data, and measure the size."""

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        """Return how many corrupt entries were found since the start, and replaced or removed, by kind."""

    @property
    def size_bytes(self) -> int | None:
        """Return the size of the stored data, bytes, as last measured; None before that."""
