"""The interface of the leases of contacts that a backend keeps.

Times to live are real seconds. Methods raise `UnavailableError`, `UnwritableError` and `CommandError`.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self

from bestbefore.addon.rfc9111.caching.vary import Values
from bestbefore.addon.store.backend.interface import KeptCopy

type RangeFields = tuple[tuple[str, ...], ...]


class ContactName(NamedTuple):
    """The name of what is asked for: contacts with the same name can share a response."""

    url: str
    digest: str
    """Of the URL, the partition, the values of the request fields that select a response, as far as known, and the
    range."""

    @classmethod
    def of(cls, url: str, partition: str, variant: Values, ranged: RangeFields = ()) -> Self:
        """Return the name of a contact; `ranged`: the values of Range and If-Range, empty without a range."""
        text = repr((url, partition, variant, *ranged)).encode(errors="surrogatepass")
        return cls(url, hashlib.blake2b(text, digest_size=16).hexdigest())


class BegunContact(NamedTuple):
    """The state of a contact after a process has asked for its lease."""

    is_ours: bool
    """Whether the process has the lease now; else another has it."""
    remaining_s: float
    """How long the lease lasts, unless it is renewed."""
    copies: list[KeptCopy]
    """The stored copies of the object."""
    time_s: float
    """When it was asked for, by the clock of the backend, Unix seconds."""


class AskedLease(NamedTuple):
    """The lease of a contact that is taken together with a look-up of its object, unless another process has it."""

    name: ContactName
    token: str
    lease_s: float
    despite_copies: bool
    """Whether it is taken even if there are stored copies."""


class EndedLease(NamedTuple):
    """A lease that its holder ends."""

    name: ContactName
    token: str
    is_shareable: bool
    """False if other processes that wait need contacts of their own."""
    received_s: float | None = None
    """When the response was received at the earliest, by the clock of the backend; None if that is not known."""


class ContactKeeper(Protocol):
    """The leases of contacts, by name. `token` stands for one lease of one process."""

    on_awaited: Callable[[str], None]
    """Called with the digest of a contact when another process begins to wait for it."""
    on_ended: Callable[[str, bool, float | None], None]
    """Called with the digest of a contact for which a process has waited, whether its response is shareable, and when
    it was received at the earliest, by the clock of the backend."""

    async def begin(self, name: ContactName, token: str, lease_s: float) -> BegunContact:
        """Take the lease of a contact, unless another process has it; read the stored copies of its object."""

    async def renew(self, leases: Sequence[tuple[ContactName, str]], lease_s: float) -> None:
        """Prolong these leases, those that have not ended."""

    async def end(self, leases: Sequence[EndedLease]) -> None:
        """End these leases; wake the processes that wait for them."""
