"""The sites that clients request.

Source: `multicast`, sections 4 and 5.3: the number of sites of a client is exponentially distributed, and the sites are
drawn uniformly, or with a skew among the sites of each size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import IntArray
from bestbefore.replay.multicast.repository import Repository

HOT_SITES = 0.05
"""The share of the paper."""


@dataclass(frozen=True, slots=True)
class ClientLaw:
    """How many sites clients request, and which."""

    sites_per_client: float = 9.0
    """The mean of the exponential law, which is rounded."""
    empty: bool = False
    """Whether a client may be without a site; otherwise each has at least one."""
    hot_requests: float = 0.0
    """The share of requests for the hot sites of each size; 0: all sites are equal."""
    hot_sites: float = HOT_SITES
    """The share of the sites of each size that are hot."""

    def draw(self, rng: np.random.Generator, clients: int, repository: Repository) -> Sequence[IntArray]:
        """Draw the sites of each client, distinct."""
        counts = np.rint(rng.exponential(self.sites_per_client, clients)).astype(np.intp)
        counts = np.clip(counts, 0 if self.empty else 1, repository.sites)
        return [self._sites(rng, count, repository) for count in counts.tolist()]

    def _sites(self, rng: np.random.Generator, count: int, repository: Repository) -> IntArray:
        if not self.hot_requests:
            return rng.choice(repository.sites, count, replace=False)
        found: dict[int, None] = {}
        while len(found) < count:
            found |= dict.fromkeys(self._skewed(rng, count - len(found), repository))
        return np.fromiter(found, np.intp, len(found))

    def _skewed(self, rng: np.random.Generator, count: int, repository: Repository) -> list[int]:
        """Draw sites, perhaps the same one twice: first its size, then among the hot or the other ones."""
        sites = []
        shares = np.array([len(group) for group in repository.by_size]) / repository.sites
        for kind in rng.choice(len(shares), count, p=shares).tolist():
            group = repository.by_size[kind]
            hot = max(1, round(self.hot_sites * len(group)))
            is_hot = hot == len(group) or rng.random() < self.hot_requests
            sites.append(int(group[rng.integers(0, hot) if is_hot else rng.integers(hot, len(group))]))
        return sites
