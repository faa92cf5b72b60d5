import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bestbefore.policies.models.price import tolerated_mass


@given(st.floats(-3.0, 6.0), st.floats(-8.0, 8.0))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_the_mass_solves_the_equation_of_the_price(log_price: float, log_kappa: float) -> None:
    price, kappa = 10.0**log_price, 10.0**log_kappa

    def excess(log_x: float) -> float:
        x = math.exp(log_x)
        return kappa * (-math.expm1(-x) - x * math.exp(-x)) - math.expm1(-x) - 1 / price

    mass = tolerated_mass(price, kappa)
    if price * (kappa + 1) <= 1.0:
        assert mass == math.inf
    elif price * (kappa + 1) > 1.001 and mass > 1e-4:
        assert mass == pytest.approx(math.exp(brentq(excess, -30.0, 10.0, xtol=1e-14)), rel=1e-5)


def test_with_many_requests_it_is_the_root_of_twice_their_number_and_price() -> None:
    assert tolerated_mass(5.0, 1e8) == pytest.approx(math.sqrt(2 / 5e8), rel=1e-3)


def test_with_few_requests_it_is_the_mass_of_one() -> None:
    assert tolerated_mass(4.0, 1e-9) == pytest.approx(-math.log(1 - 1 / 4), rel=1e-6)
