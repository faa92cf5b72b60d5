"""The site-wide settings on which the engine's decisions depend."""

from dataclasses import dataclass
from typing import Protocol

from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.engine.observation import SiteContact
from bestbefore.addon.rfc9111.caching.personal import may_use_learned_freshness
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.policies.validation.siblings.changes import SiteChange


class KnownSites(Protocol):
    """Which objects of each site change together, and their latest changes."""

    def contact(self, copy: Copy, shown: SiteContact) -> None:
        """Learn from a contact that has stored or confirmed a copy."""

    def outdating(self, copy: Copy) -> SiteChange | None:
        """Return the change of a sibling that has probably outdated a copy; None if none has."""


@dataclass(frozen=True, slots=True)
class Site:
    """Site-wide settings: of the proxy as a whole, not of a domain's rule. Replaced when the configuration changes."""

    name: str
    """The pseudonym in Via and in observations, unique for each proxy, so that loops are distinguished from chains."""
    salt: bytes
    """The salt for hashes of cookies."""
    max_cached_body: int
    """The largest content that is stored in memory or in a remote store, bytes."""
    offline: bool = False
    """Whether all copies are served and no origin is contacted."""
    own_host: str = ""
    """The host that the proxy itself answers, also offline."""
    via_request: bool = True
    """Whether requests to the origin have Via."""
    reverse: bool = False
    """Whether the proxy is a reverse proxy, and so may report updates to clients."""
    targeted: tuple[str, ...] = ()
    """The lower-case names of the targeted cache-control fields to obey (RFC 9213), in order of preference."""
    max_cached_file: int = 0
    """The largest content that is stored as a file, bytes; 0: the store has no files."""
    coverage: Coverage | None = None
    """What a channel reports on updates; None: there is none."""
    siblings: KnownSites | None = None
    """None: changes of siblings are not used."""

    def is_offline_for(self, host: str) -> bool:
        """Whether no contact is made for a request to this host."""
        return self.offline and host != self.own_host

    def current_until_s(self, copy: Copy) -> float | None:
        """Return until when a channel vouches that the copy is current; None if none does."""
        return None if self.coverage is None else self.coverage.current_until_s(copy)

    def contacted(self, request: Request, copy: Copy, shown: SiteContact) -> None:
        """Let the siblings learn from a contact, unless its response is for one client or one Cookie, or may be."""
        is_for_all = not (copy.client or copy.personal) and may_use_learned_freshness(request, copy)
        if self.siblings is not None and is_for_all:
            self.siblings.contact(copy, shown)

    def outdating(self, copy: Copy) -> SiteChange | None:
        """Return the change of a sibling because of which a fresh copy is validated; None if none does."""
        if self.siblings is None or copy.sibling_chance >= 1.0 or self.current_until_s(copy) is not None:
            return None
        return self.siblings.outdating(copy)

    @property
    def stored_at_most(self) -> int:
        """The largest content that is stored, bytes."""
        return max(self.max_cached_body, self.max_cached_file)
