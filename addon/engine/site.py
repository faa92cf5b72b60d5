"""The site-wide settings on which the engine's decisions depend."""

from dataclasses import dataclass

from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.rfc9111.copy import Copy


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

    def current_until_s(self, copy: Copy) -> float | None:
        """Return until when a channel vouches that the copy is current; None if none does."""
        return None if self.coverage is None else self.coverage.current_until_s(copy)

    @property
    def stored_at_most(self) -> int:
        """The largest content that is stored, bytes."""
        return max(self.max_cached_body, self.max_cached_file)
