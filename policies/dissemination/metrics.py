"""What subscribers have: the freshness and age of their copies, over clients and over data.

A client asked for N items (pages); W_i,t is the version of item i at its source at time t, C_i,t that of the client's
copy, and delta is 1 at 0 and 0 elsewhere. At a time T

    freshness  F_T = 1/N sum over i of delta(W_i,T - C_i,T)
    age        A_T = 1/N sum over i of (1 - delta(W_i,T - C_i,T)) (T - the last time at which the copy was current)

and the time-averaged F and A are their means over a span: integrals here, where the paper sums over slots. Freshness
with all copies current at the start is what the paper calls freshness-loss. Of all clients, with N_j items and a
measure M_j each,

    over clients  1/c sum over j of M_j               over data  sum over j of M_j N_j / sum over j of N_j

(the paper divides the latter by c too, though it calls it a weighted average). The delay of a downloader is the time
from its request to its first copy of the last item that it asked for.

Source: Lam, Garcia-Molina, "Multicasting a changing repository", sections 2.2, 2.3 and 6.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """The freshness and age of the copies of all subscribers, at a time or averaged over a span."""

    freshness_over_clients: float
    freshness_over_data: float
    age_over_clients_s: float
    age_over_data_s: float


def condition_at(time_s: float, clients: Iterable[tuple[int, Collection[float]]]) -> Condition:
    """The condition at a time, by definition, of clients that asked for at least one item each.

    A client is the number of its items, and for each one that is not current the time since when. An item of which it
    has no copy is not current; its age, which the paper leaves undefined, is what the caller says. Without clients
    everything is fresh.
    """
    found = [(items, len(since_s), sum(time_s - since for since in since_s)) for items, since_s in clients]
    count, data = max(len(found), 1), max(sum(items for items, _, _ in found), 1)
    return Condition(
        1.0 - sum(stale / items for items, stale, _ in found) / count,
        1.0 - sum(stale for _, stale, _ in found) / data,
        sum(age_s / items for items, _, age_s in found) / count,
        sum(age_s for _, _, age_s in found) / data,
    )


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
    """The copies of a fixed set of subscribers, all current at the start; their condition averaged over spans of time.

    All that have an item got the same copy of it, so that a page of it is stale for all of them or for none. A page
    weighs, over clients, the sum of 1 / pages of each client of the item, over data their number; a change or a sending
    costs O(1).
    """

    def __init__(self, pages: Sequence[int], subscribers: Sequence[Collection[int]]) -> None:
        """`pages` gives the pages of each item, `subscribers` the items of each client, distinct.

        A client without items has the freshness 0 and no age.
        """
        self._over_clients, self._over_data = [0.0] * len(pages), [0.0] * len(pages)
        asked = [sum(pages[item] for item in items) for items in subscribers]
        clients, data = max(len(subscribers), 1), max(sum(asked), 1)
        for items, size in zip(subscribers, asked, strict=True):
            for item in items:
                self._over_clients[item] += 1.0 / size / clients
                self._over_data[item] += 1.0 / data
        self._with_items = sum(size > 0 for size in asked) / clients
        self._clients, self._data = _Stale(), _Stale()
        self._stale_pages = [0] * len(pages)
        self._since_sum_s = [0.0] * len(pages)
        self._now_s = self._span_start_s = 0.0

    def page_became_stale(self, item: int, time_s: float) -> None:
        """A page that was current changed."""
        self._pass_time(time_s)
        self._stale_pages[item] += 1
        self._since_sum_s[item] += time_s
        for stale, weights in ((self._clients, self._over_clients), (self._data, self._over_data)):
            weight = weights[item]
            stale.weight += weight
            stale.weight_since += weight * time_s

    def sent(self, item: int, time_s: float) -> None:
        """All copies of an item became current."""
        self._pass_time(time_s)
        for stale, weights in ((self._clients, self._over_clients), (self._data, self._over_data)):
            stale.weight -= weights[item] * self._stale_pages[item]
            stale.weight_since -= weights[item] * self._since_sum_s[item]
        self._stale_pages[item] = 0
        self._since_sum_s[item] = 0.0

    def span_ended(self, time_s: float) -> Condition:
        """The averages since the last call, or since the start."""
        self._pass_time(time_s)
        length_s = time_s - self._span_start_s
        clients, data = self._clients, self._data
        found = Condition(
            self._with_items - clients.staleness / length_s, 1.0 - data.staleness / length_s,
            clients.age / length_s, data.age / length_s,
        )
        clients.staleness = clients.age = data.staleness = data.age = 0.0
        self._span_start_s = time_s
        return found

    def _pass_time(self, time_s: float) -> None:
        self._clients.pass_time(self._now_s, time_s)
        self._data.pass_time(self._now_s, time_s)
        self._now_s = time_s
