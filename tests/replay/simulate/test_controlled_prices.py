import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.control import FIRST_PRICE, HIGHEST
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.controlled_prices import ControlledPrices

HISTORY = History.of([1000.0, 50_000.0], 0.0)


def test_each_group_has_a_price_of_its_own() -> None:
    prices = ControlledPrices(parse_spec("indhist:stale_rate=5%"), Grouping.PREFIX)
    assert prices.price("p/a", "", HISTORY, 0.0) == pytest.approx(FIRST_PRICE / 0.05)
    t = 0.0
    for _ in range(100):
        for _ in range(50):
            t += 60.0
            prices.hit("p/a", "", t)
        prices.validated("p/a", "", t, True)
        dear = prices.price("p/a", "", HISTORY, t)
    assert FIRST_PRICE / 0.05 < dear <= HIGHEST * FIRST_PRICE / 0.05
    assert prices.price("p/b", "", HISTORY, t) == dear
    assert prices.price("q/a", "", HISTORY, t) == pytest.approx(FIRST_PRICE / 0.05)
