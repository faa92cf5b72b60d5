import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from bestbefore.policies.models.hazard.experts import (
    day_mass,
    day_rate_per_s,
    day_share,
    lasting_mass,
    lasting_rate_per_s,
    observed_in_day_s,
)
from bestbefore.policies.units import DAY_S

counts = st.floats(0.0, 200.0)
shares = st.floats(0.0, 1.0)
rates = st.floats(-8.0, -2.0).map(lambda exponent: 10.0**exponent)
many = settings(max_examples=200, derandomize=True, deadline=None)


def test_the_lasting_rate_is_the_mean_rate_with_half_an_update_of_the_prior() -> None:
    assert lasting_rate_per_s(0.0, 0.0, 1 / DAY_S) == pytest.approx(1 / DAY_S)
    assert lasting_rate_per_s(9.5, 9.5 * DAY_S, 1 / DAY_S) == pytest.approx(1 / DAY_S)
    assert lasting_rate_per_s(2.0, 1.0 * DAY_S, 1 / DAY_S) == pytest.approx(2.5 / 1.5 / DAY_S)


def test_the_rate_of_a_day_lies_between_what_was_seen_and_the_lasting_rate() -> None:
    # 3 updates in the last day, all weighing 1, and as much as one update at one a day
    assert day_rate_per_s(3.0, DAY_S, 1 / DAY_S, 1.0) == pytest.approx(2 / DAY_S)
    # long after, T seconds without an update weigh against it
    assert day_rate_per_s(3.0, DAY_S, 1 / DAY_S, 0.0) == pytest.approx(0.5 / DAY_S)


def test_time_of_observation_decays_as_updates_do() -> None:
    assert observed_in_day_s(0.0, day_share(DAY_S)) == pytest.approx(DAY_S * (1 - math.exp(-1)))
    assert observed_in_day_s(DAY_S, day_share(5.0)) == pytest.approx(DAY_S)


@given(counts, st.floats(0.0, 1e8), rates, st.floats(0.0, 1e8))
@many
def test_the_lasting_mass_is_the_integral_of_the_lasting_rate(
    updates: float, observed_s: float, prior: float, quiet_s: float
) -> None:
    integral, _ = quad(lambda s: lasting_rate_per_s(updates, observed_s + s, prior), 0.0, quiet_s, epsrel=1e-10)
    assert lasting_mass(updates, observed_s, prior, quiet_s) == pytest.approx(integral, rel=1e-6, abs=1e-9)


@given(counts, shares, rates, st.floats(0.0, 40.0))
@many
def test_the_mass_is_the_integral_of_the_rate(count: float, observed: float, lasting: float, days: float) -> None:
    def rate(s: float) -> float:
        return day_rate_per_s(count, observed * DAY_S, lasting, day_share(s))

    quiet_s = days * DAY_S
    points = [DAY_S * k for k in (0.01, 0.1, 1.0, 5.0) if DAY_S * k < quiet_s]
    integral, _ = quad(rate, 0.0, quiet_s, points=points or None, limit=400, epsabs=0.0, epsrel=1e-10)
    assert day_mass(count, observed * DAY_S, lasting, quiet_s) == pytest.approx(integral, rel=1e-7, abs=1e-12)


def test_the_mass_of_an_object_observed_for_long_has_no_singularity() -> None:
    assert day_mass(2.0, DAY_S, 1 / DAY_S, DAY_S) == pytest.approx(
        day_mass(2.0, DAY_S * (1 - 1e-9), 1 / DAY_S, DAY_S), rel=1e-8
    )
