"""The interface between the parts of the store: values, errors and the one Protocol that each backend implements.

A backend keeps; it decides nothing about freshness and knows no queue. All its methods may raise `UnavailableError`
(it does not answer) and `CommandError` (this one command failed), those that write `UnwritableError` too (it refuses to
write). Each write may be repeated without harm, except that requests may count twice.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.keeper import Keeper
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.cache.steady import Looked

VARIANTS_KEPT = 64
"""How many variants of an object are kept: a Vary on what each client sends differently must not fill the store."""

type Body = bytes | Path | UnlinkedFile
"""The content of a copy; of a large one, the file that holds it."""


class StoreInputError(ValueError):
    """An error in the user's input: the URL, its password, a server that is no Redis, a store of another kind."""


class StoreUnusableError(Exception):
    """The embedded store cannot be used: its directory is not writable, or another proxy holds it."""


class UnavailableError(Exception):
    """The backend cannot be reached now. The message says why."""


class UnwritableError(Exception):
    """The backend answers and refuses to write. The message says why."""


class CommandError(Exception):
    """A command failed because of its own data; the backend answers others. The message says why."""


class FullError(UnwritableError):
    """The backend has no room left."""


@dataclass(frozen=True, slots=True)
class CopySet:
    """All known variants of one URL."""

    copies: tuple[Copy, ...] = ()
    """Those stored last first."""
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    """Those held in process, by their digests."""
    complete: bool = field(default=False, compare=False)
    """Whether these are all variants that the backend had when it was asked."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The counts of the members of a group, by hours since the epoch."""

    updates: Mapping[int, int]
    starts: Mapping[int, int]
    """The members, by the hours of their t_0."""
    generation: int = 0
    """Another one whenever the counts are others."""


@dataclass(frozen=True, slots=True)
class Versioned:
    """A record and the version under which the backend has it."""

    version: bytes = b""
    """Empty: the backend has none."""
    record: Record | None = None
    at: int = field(default=0, compare=False)
    """When it was written, in the order of the numbers of tombstones; 0: not known."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The next version of a record, and what goes with it or not at all."""

    url: str
    expected: bytes
    """The version it was made from."""
    record: Record | None
    """None: the record is removed."""
    gain: GroupCounts
    """What the counts of the host gain (a loss is negative)."""


@dataclass(frozen=True, slots=True)
class Put:
    """A copy to be kept."""

    copy: Copy
    ttl_s: float
    """For how long, in real seconds."""
    body: bytes | UnlinkedFile | None
    """None: it is there already."""


class KeptCopy(NamedTuple):
    """A copy as the backend has it."""

    copy: Copy
    applied: int | None = None
    """The number of the last tombstone that the process had applied that wrote it; None if that is not known."""


@dataclass(frozen=True, slots=True, order=True)
class Tombstone:
    """An invalidation: what was stored of these objects before this moment is dead.

    The moment is one of the clock of the process that wrote the tombstone, and clocks differ. What is before and
    what after is decided by its number: each process applies tombstones in the order of their numbers, to all that
    it holds at that moment, and says with each copy that it writes how far it had come.
    """

    time_s: float
    pattern: str
    """The URL of one object, or a pattern of many (`tombstones.matcher`)."""
    exact: bool
    """Whether it is the URL of one."""
    histories: bool = False
    """Whether their histories are forgotten too."""
    by: str = field(default="", compare=False)
    """The process that wrote it; empty from earlier versions, whose tombstones have no numbers."""
    number: int = field(default=0, compare=False)
    """Given by the backend; 0: it has none, and times are compared instead."""
    after: int = field(default=0, compare=False)
    """The number of the tombstone before it."""


class Backend(Protocol):
    """The interface of a backend, which keeps what outlives the process."""

    @property
    def keeper(self) -> Keeper:
        """The backend's part for prefetching."""

    async def connect(
        self, on_tombstone: Callable[[Tombstone], None], on_lost: Callable[[UnavailableError], None]
    ) -> None:
        """Reach the backend, and check that it may be used. Raises StoreInputError if not.

        From then on `on_tombstone` is called for each tombstone that another process writes, and `on_lost` once when
        the connection is lost. May be called again after it was lost.
        """

    async def close(self) -> None:
        """Close the connection. Nothing is called after that."""

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        """The records of these objects, in order."""

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        """Write each record whose version is as expected, and what it gives the counts with it, atomically.

        Answers for each its new version; or, where another version was found and nothing written, that one.
        """

    async def copies(self, url: str) -> list[KeptCopy]:
        """Return all variants of a URL, in all partitions."""

    async def body(self, copy: Copy) -> Body | None:
        """Return the content of a copy; None if it is gone."""

    async def put(self, puts: Sequence[Put], applied: int = 0) -> None:
        """Keep copies, each in place of the same variant's before; not if there is a tombstone of its URL after it.

        `applied`: the number of the last tombstone that was applied to them; 0: not known, their times are compared.
        Nor if the one before was received after it (`Copy.was_received_after`): another process may have been quicker.
        """

    async def add_tombstones(self, tombstones: Sequence[Tombstone], applied: int = 0) -> list[Tombstone]:
        """Store and publish tombstones. Removes the copies of a tombstone that names one URL.

        `applied`: the number of the last that the writer has applied.

        Return them with the numbers that the backend gave them.
        """

    async def last_tombstone(self) -> int:
        """The number of the last tombstone that was written; 0 if it gives none."""

    async def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of the last `TOMBSTONES_KEPT_S`, the earliest first.

        The latest `TOMBSTONES_AT_MOST` of them.
        """

    async def remove(self, urls: Sequence[str], tombstone: Tombstone) -> int:
        """Remove the copies of these objects that are dead by a tombstone. How many objects had any."""

    async def hosts(self, domain: str | None) -> list[str]:
        """The hosts of which anything is counted, of one registrable domain or all."""

    async def host_counts(self, hosts: Sequence[str]) -> list[GroupCounts]:
        """Return the counts of the members on each of these hosts."""

    async def tally(self, requests: Mapping[str, int]) -> None:
        """Add to the request counts of these objects."""

    async def top(self, n: int) -> list[tuple[str, int]]:
        """The objects most often requested, and how often."""

    def requested(self) -> AsyncIterator[list[str]]:
        """The URLs whose requests are counted, in parts, in no order."""

    async def uncount(self, urls: Sequence[str]) -> None:
        """Forget how often these objects were requested."""

    def recorded(self) -> AsyncIterator[list[tuple[str, float]]]:
        """The URLs that have a record and the times of their last contacts, in parts, in no order.

        What comes or goes meanwhile may be missed, and a URL may come twice.
        """

    def copied(self) -> AsyncIterator[list[str]]:
        """The URLs that have copies, likewise."""

    async def last_look(self) -> Looked | None:
        """Return the state of the clock at the last sweep."""

    async def keep_look(self, look: Looked) -> None:
        """Store the state of the clock."""

    async def tidy(self) -> None:
        """Remove what nothing refers to, and measure."""

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        """How many corrupt entries were found since the start, and replaced or removed, by kind."""

    @property
    def size_bytes(self) -> int | None:
        """The size of what the backend keeps, as last measured; None before that."""
