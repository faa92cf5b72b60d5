"""The pages that a sitemap lists, in columns, and which of them it says have changed since it was read before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bestbefore.addon.feeds.document import digest
from bestbefore.addon.feeds.sitemap import ListedPage
from bestbefore.policies.units import DAY_S, FloatArray, IntArray

NEWS_AT_MOST = 1000
"""How many pages of a sitemap are taken for changed at one reading: those that changed last."""
FIRST_NEWS_S = 7 * DAY_S
"""How far a change may lie back to count when a sitemap is read for the first time."""


@dataclass(frozen=True, slots=True, eq=False)
class ListedPages:
    """What one reading of a sitemap has shown. 24 bytes a page."""

    keys: IntArray
    """(n,) The digests of the URLs, ascending."""
    after_s: FloatArray
    by_s: FloatArray
    """(n,) Each changed last in (after_s, by_s], Unix seconds."""

    @classmethod
    def of(cls, entries: Sequence[ListedPage]) -> Self:
        """Create from the entries of a sitemap; the last of those with one URL counts."""
        found = {digest(entry.url): entry for entry in entries}
        keys = np.array(sorted(found), dtype=np.int64)
        spans = np.array([(found[key].after_s, found[key].by_s) for key in keys.tolist()], dtype=np.float64)
        spans = spans.reshape(len(keys), 2)
        return cls(keys, spans[:, 0], spans[:, 1])

    def __len__(self) -> int:
        return len(self.keys)

    def by(self, url: str) -> float | None:
        """Return by when a page has changed last; None if it is not listed."""
        key = digest(url)
        at = int(np.searchsorted(self.keys, key))
        return float(self.by_s[at]) if at < len(self.keys) and int(self.keys[at]) == key else None

    def news(self, before: "ListedPages | None", entries: Sequence[ListedPage], t_s: float) -> list[ListedPage]:
        """Return the entries of this reading, at t, whose time is later than in the reading before, the latest first.

        Without one before: those of the last `FIRST_NEWS_S`. At most `NEWS_AT_MOST`; times in the future are ignored,
        but for a date that is today somewhere.
        """
        def is_new(entry: ListedPage) -> bool:
            if entry.after_s > t_s or (entry.by_s > t_s and entry.after_s == entry.by_s):
                return False
            known = None if before is None else before.by(entry.url)
            return entry.by_s > (t_s - FIRST_NEWS_S if known is None else known)

        return sorted(filter(is_new, entries), key=lambda entry: -entry.by_s)[:NEWS_AT_MOST]


def says_changed(entry: ListedPage, contact_s: float, *, moved: bool) -> bool:
    """Whether an entry says that its page has changed since a contact.

    A date without a time may be that of the contact: then only if the entry has moved since the reading before.
    """
    return entry.after_s >= contact_s or (entry.by_s > contact_s and (moved or entry.after_s == entry.by_s))
