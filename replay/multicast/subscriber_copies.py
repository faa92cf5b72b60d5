"""The freshness and age of the copies that subscribers have, integrated over time as changes and chunks come."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import IntArray
from bestbefore.replay.multicast.repository import PAGES_PER_CHUNK, Repository


@dataclass(frozen=True, slots=True)
class Condition:
    """The freshness and age of all copies of the subscribers, averaged over a span of time."""

    freshness_over_clients: float
    freshness_over_data: float
    age_over_clients_s: float
    age_over_data_s: float


@dataclass(slots=True)
class _Stale:
    """The weights of stale pages in sum, with and without the time since when each is stale, and their integrals."""

    weight: float = 0.0
    weight_since: float = 0.0
    staleness: float = 0.0
    age: float = 0.0

    def pass_time(self, start_s: float, end_s: float) -> None:
        """Integrate over a span in which nothing changes."""
        length_s = end_s - start_s
        self.staleness += self.weight * length_s
        self.age += (self.weight * (start_s + end_s) / 2.0 - self.weight_since) * length_s


class SubscriberCopies:
    """The copies of subscribers, all current at the start.

    All who have a chunk got the same copy of it, so that a page is stale for all of them or for none. A page of a site
    weighs, over clients, the sum of 1 / pages of each client of the site, over data their number; a change or a chunk
    costs O(1).
    """

    def __init__(self, repository: Repository, subscribers: Sequence[IntArray]) -> None:
        """`subscribers` are the sites of each client; one without sites has the freshness 0 and no age."""
        chunks = np.diff(repository.first_chunk)
        by_client, by_data = np.zeros(repository.sites), np.zeros(repository.sites)
        for sites in subscribers:
            if len(sites):
                by_client[sites] += 1.0 / (PAGES_PER_CHUNK * float(chunks[sites].sum()))
                by_data[sites] += 1.0
        pages = PAGES_PER_CHUNK * float(chunks @ by_data)
        self._over_clients = np.repeat(by_client / max(len(subscribers), 1), chunks).tolist()
        self._over_data = np.repeat(by_data / max(pages, 1.0), chunks).tolist()
        self._with_sites = sum(len(sites) > 0 for sites in subscribers) / max(len(subscribers), 1)
        self._clients, self._data = _Stale(), _Stale()
        self._stale_pages = [0] * repository.chunks
        self._since_sum_s = [0.0] * repository.chunks
        self._now_s = self._span_start_s = 0.0

    def page_became_stale(self, chunk: int, time_s: float) -> None:
        """A page that was current changed."""
        self._pass_time(time_s)
        self._stale_pages[chunk] += 1
        self._since_sum_s[chunk] += time_s
        for stale, weights in ((self._clients, self._over_clients), (self._data, self._over_data)):
            weight = weights[chunk]
            stale.weight += weight
            stale.weight_since += weight * time_s

    def sent(self, chunk: int, time_s: float) -> None:
        """All copies of a chunk became current."""
        self._pass_time(time_s)
        for stale, weights in ((self._clients, self._over_clients), (self._data, self._over_data)):
            stale.weight -= weights[chunk] * self._stale_pages[chunk]
            stale.weight_since -= weights[chunk] * self._since_sum_s[chunk]
        self._stale_pages[chunk] = 0
        self._since_sum_s[chunk] = 0.0

    def span_ended(self, time_s: float) -> Condition:
        """The averages since the last call, or since the start."""
        self._pass_time(time_s)
        length_s = time_s - self._span_start_s
        clients, data = self._clients, self._data
        found = Condition(
            self._with_sites - clients.staleness / length_s, 1.0 - data.staleness / length_s,
            clients.age / length_s, data.age / length_s,
        )
        clients.staleness = clients.age = data.staleness = data.age = 0.0
        self._span_start_s = time_s
        return found

    def _pass_time(self, time_s: float) -> None:
        self._clients.pass_time(self._now_s, time_s)
        self._data.pass_time(self._now_s, time_s)
        self._now_s = time_s
