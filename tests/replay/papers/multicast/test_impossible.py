from itertools import permutations

import numpy as np
import pytest

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.repository import Repository
from bestbefore.replay.papers.multicast.impossible import least_mean_delay_days


def best_mean_delay_days(instance: Instance) -> float:
    """By trying every order in which downloaders may become complete."""
    wanted = [set(instance.repository.chunks_of(sites)) for sites in instance.downloaders]
    means = []
    for order in permutations(wanted):
        sent: set[int] = set()
        total = 0
        for chunks in order:
            sent |= chunks
            total += len(sent)
        means.append(total / len(order))
    return min(means)


@pytest.mark.parametrize("seed", range(6))
def test_no_order_has_a_smaller_mean_delay(seed: int) -> None:
    repository = Repository.of(np.random.default_rng(seed), (5, 1), (2, 4))
    instance = Instance.of(repository, Parameters(1, 5, client_law=ClientLaw(2.0)), seed)
    least, best = least_mean_delay_days(instance, 1.0), best_mean_delay_days(instance)
    assert 0.3 * best < least <= best + 1e-9


def test_without_shared_chunks_it_is_the_shortest_first() -> None:
    repository = Repository.of(np.random.default_rng(1), (10, 1))
    drawn = Instance.of(repository, Parameters(1), 1)
    sites = [np.arange(4), np.arange(4, 5), np.arange(5, 10)]
    instance = Instance(1, repository, drawn.subscribers, sites, drawn.changes)
    assert least_mean_delay_days(instance, 2.0) == pytest.approx((1 + 5 + 10) / 3 / 2)
