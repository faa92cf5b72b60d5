import numpy as np
import pytest

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.repository import LARGE, MEDIUM, SMALL, Repository

BASE = Repository.of(np.random.default_rng(1), SMALL, MEDIUM, LARGE)


def drawn(law: ClientLaw, clients: int = 5000) -> list[np.ndarray]:
    return list(law.draw(np.random.default_rng(2), clients, BASE))


def test_the_number_of_sites_is_exponential_and_at_least_one() -> None:
    counts = np.array([len(sites) for sites in drawn(ClientLaw())])
    assert counts.min() == 1
    assert counts.mean() == pytest.approx(9.05, abs=0.4)
    assert (counts > 9).mean() == pytest.approx(np.exp(-9.5 / 9.0), abs=0.03)


def test_empty_clients_are_as_many_as_the_law_rounds_to_none() -> None:
    counts = np.array([len(sites) for sites in drawn(ClientLaw(empty=True))])
    assert (counts == 0).mean() == pytest.approx(1.0 - np.exp(-0.5 / 9.0), abs=0.015)


@pytest.mark.parametrize("law", [ClientLaw(), ClientLaw(hot_requests=0.8)])
def test_the_sites_of_a_client_are_distinct(law: ClientLaw) -> None:
    assert all(len(set(sites.tolist())) == len(sites) for sites in drawn(law, 500))


def test_with_skew_each_size_keeps_its_share_and_a_twentieth_of_it_has_four_fifths() -> None:
    sites = np.concatenate(drawn(ClientLaw(hot_requests=0.8), 1000))
    for group in BASE.by_size:
        own = np.isin(sites, group)
        assert own.mean() == pytest.approx(len(group) / BASE.sites, abs=0.02)
        hot = np.isin(sites, group[: round(0.05 * len(group))])
        assert hot.sum() / own.sum() == pytest.approx(0.8, abs=0.04)


def test_no_client_asks_for_more_sites_than_there_are() -> None:
    tiny = Repository.of(np.random.default_rng(1), (3, 1), (2, 2))
    for law in (ClientLaw(50.0), ClientLaw(50.0, hot_requests=0.8)):
        assert max(len(sites) for sites in law.draw(np.random.default_rng(3), 50, tiny)) == 5
