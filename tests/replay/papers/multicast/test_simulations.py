import pytest

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.multicast.measures import AGE_CLIENTS, CLIENTS
from bestbefore.replay.papers.multicast.simulations import Simulations, seeds_of
from bestbefore.replay.papers.work import Work

BASE = Parameters(subscribers=300)


@pytest.fixture(scope="module")
def simulations(small: None) -> Simulations:
    return Simulations(Work(None, pytest.fail), [(name, BASE) for name in ("circ", "pop", "circ")])


def test_small_simulations_and_those_with_printed_values_have_several_instances() -> None:
    sizes = [Parameters(subscribers=100), Parameters(subscribers=400), Parameters(subscribers=1000),
             Parameters(subscribers=1000, client_law=ClientLaw(20.0))]
    assert [len(seeds_of(one)) for one in sizes] == [4, 1, 3, 1]


def test_a_case_is_run_once_for_each_seed(simulations: Simulations) -> None:
    assert len(simulations.served("circ", BASE)) == len(simulations.values("pop", BASE, CLIENTS)) == 2


def test_a_difference_is_that_of_each_instance(simulations: Simulations) -> None:
    pairs = zip(simulations.values("circ", BASE, CLIENTS), simulations.values("pop", BASE, CLIENTS), strict=True)
    differences = [one - other for one, other in pairs]
    found = simulations.difference("circ", "pop", BASE, CLIENTS)
    assert found.mean == pytest.approx(sum(differences) / 2)


def test_the_best_has_the_greatest_freshness_or_the_least_age(simulations: Simulations) -> None:
    for measure, worst in ((CLIENTS, min), (AGE_CLIENTS, max)):
        means = {name: simulations.mean(name, BASE, measure).mean for name in ("circ", "pop")}
        assert means[simulations.best(("circ", "pop"), BASE, measure)] != worst(means.values())
