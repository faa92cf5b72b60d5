import pytest

from bestbefore.policies.dissemination.metrics import Condition
from bestbefore.replay.multicast.channel import Served
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.multicast.judging import PrintedMeasure, is_better, order_claim, recommendation
from bestbefore.replay.papers.multicast.measures import AGE_CLIENTS, CLIENTS, DELAY
from bestbefore.replay.papers.multicast.simulations import Simulations
from bestbefore.replay.papers.work import Work

BASE = Parameters(subscribers=100)
FRESHNESS = {"circ": 0.86, "pop": 0.865, "rq": 0.80}


@pytest.fixture
def simulations(monkeypatch: pytest.MonkeyPatch) -> Simulations:
    """Freshness as above, but for the instance; the age in days and the delay are 10 times what is stale."""

    def served(run) -> Served:
        fresh = FRESHNESS[run.scheduler] + 0.01 * (run.seed % 2) + 0.0001 * run.seed * (run.scheduler == "pop")
        stale_s = (1.0 - fresh) * 10.0 * 86400.0
        return Served([Condition(fresh, fresh, stale_s, stale_s)], [stale_s])

    monkeypatch.setattr("bestbefore.replay.papers.multicast.simulations.served", served)
    monkeypatch.setattr("bestbefore.replay.papers.multicast.simulations.seeds_of", lambda _parameters: range(1, 7))
    return Simulations(Work(None, pytest.fail), [(name, BASE) for name in FRESHNESS])


@pytest.mark.parametrize(("printed", "agrees"), [("0.865", "yes"), ("0.845", "yes"), ("0.90", "no")])
def test_a_printed_freshness_agrees_within_two_hundredths_and_the_interval(
    simulations: Simulations, printed: str, agrees: str
) -> None:
    row = PrintedMeasure("here", "circ", BASE, CLIENTS, printed).row(simulations)
    assert row[:3] == ("here", "Circ", printed)
    assert row[-1] == agrees


@pytest.mark.parametrize(("printed", "agrees"), [("1.5", "yes"), ("1.2", "yes"), ("1.05", "no")])
def test_a_printed_delay_agrees_within_a_fifth_and_the_interval(
    simulations: Simulations, printed: str, agrees: str
) -> None:
    assert PrintedMeasure("here", "circ", BASE, DELAY, printed).row(simulations)[-1] == agrees


def test_better_is_fresher_or_younger_on_the_same_instances(simulations: Simulations) -> None:
    for measure in (CLIENTS, AGE_CLIENTS):
        assert is_better(simulations, "pop", "circ", BASE, measure) is True
        assert is_better(simulations, "rq", "circ", BASE, measure) is False
        assert is_better(simulations, "rq", "rq", BASE, measure) is None


def test_a_recommendation_holds_near_the_best(simulations: Simulations) -> None:
    assert recommendation(simulations, FRESHNESS, ("circ",), BASE, CLIENTS) == (
        "Pop 0.870, Circ 0.865, R/Q 0.805", True
    )
    assert recommendation(simulations, FRESHNESS, ("circ", "rq"), BASE, CLIENTS)[1] is False


def test_an_order_holds_partly_where_one_pair_does(simulations: Simulations) -> None:
    for order, held in ((("pop", "circ", "rq"), "yes"), (("circ", "pop", "rq"), "partly"), (("rq", "pop"), "no")):
        assert order_claim(simulations, "figure", "said", BASE, CLIENTS, order).verdict == held
