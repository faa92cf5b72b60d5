"""The sites of a worker: which objects of a registrable domain change together, as its contacts have shown."""

from cachetools import LRUCache

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.observation import SiteContact
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.cache.tombstones import matcher_of
from bestbefore.policies.validation.siblings.changes import SiteChange
from bestbefore.policies.validation.siblings.siblings import Siblings

SITES_KEPT = 512
"""For how many registrable domains it is known, those contacted last."""


class Sites:
    """The siblings of objects by registrable domain."""

    def __init__(self) -> None:
        self._sites: LRUCache[str, Siblings] = LRUCache(SITES_KEPT)

    def contact(self, copy: Copy, shown: SiteContact) -> None:
        """Learn from a contact that has stored or confirmed a copy."""
        domain = registrable_domain(host_of(copy.url))
        site = self._sites.get(domain)
        if site is None:
            site = self._sites[domain] = Siblings()
        site.contact(copy.url, shown.previous_s, shown.changed_s)

    def outdating(self, copy: Copy) -> SiteChange | None:
        """Return the change of a sibling that has probably outdated a copy; None if none has."""
        site = self._sites.get(registrable_domain(host_of(copy.url)))
        return None if site is None else site.outdating(copy.url, copy.current_s, copy.sibling_chance)

    def forget(self, tombstone: Tombstone) -> None:
        """Remove the sites of forgotten objects. Raises ValueError for a pattern that cannot be read."""
        if tombstone.histories:
            matches = matcher_of(tombstone)
            for domain in [domain for domain, site in self._sites.items() if any(map(matches, site.names()))]:
                del self._sites[domain]
