import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import logistic

from bestbefore.policies.models.hazard.gaps import GapLaw, gap_law, gap_mass, gap_rate_per_s
from bestbefore.policies.units import DAY_S, HOUR_S

laws = st.builds(GapLaw, st.floats(2.0, 18.0), st.floats(0.5, 18.0))
some = settings(max_examples=100, derandomize=True, deadline=None)


@given(laws, st.floats(1.0, 1e7))
@some
def test_it_is_the_log_logistic_law(law: GapLaw, age_s: float) -> None:
    z = law.shape * (math.log(age_s) - law.log_median)  # ln of the gap has a logistic law
    assert gap_mass(law, age_s) == pytest.approx(-logistic.logsf(z), rel=1e-9, abs=1e-300)
    assert gap_rate_per_s(law, age_s) == pytest.approx(law.shape / age_s * logistic.cdf(z), rel=1e-9, abs=1e-300)


@given(laws, st.floats(1.0, 1e6), st.floats(1.0, 1e6))
@some
def test_the_mass_is_the_integral_of_the_hazard(law: GapLaw, start_s: float, passed_s: float) -> None:
    integral, _ = quad(lambda s: gap_rate_per_s(law, s), start_s, start_s + passed_s, limit=500, epsrel=1e-9)
    found = gap_mass(law, start_s + passed_s) - gap_mass(law, start_s)
    assert found == pytest.approx(integral, rel=1e-4, abs=1e-9)


def test_without_gaps_it_is_nearly_the_law_of_a_constant_rate() -> None:
    law = gap_law(0.0, 0.0, 0.0, 1 / DAY_S)
    exponential = np.log(np.random.default_rng(1).exponential(DAY_S, 200_000))
    assert law.log_median == pytest.approx(exponential.mean(), abs=0.01)
    assert 1.8138 / law.shape == pytest.approx(exponential.std(), abs=0.01)


def test_regular_gaps_make_an_update_due_and_irregular_ones_the_less_likely_the_longer_the_last_is_ago() -> None:
    regular = gap_law(20.0, math.log(HOUR_S), 0.0, 1 / HOUR_S)
    assert gap_rate_per_s(regular, 0.5 * HOUR_S) < 0.1 * gap_rate_per_s(regular, HOUR_S)
    irregular = gap_law(20.0, math.log(HOUR_S), 20 * 9.0, 1 / HOUR_S)
    assert gap_rate_per_s(irregular, 10.0) > 10 * gap_rate_per_s(irregular, HOUR_S)


def test_at_a_large_shape_it_is_a_policy_of_ages_like_ttl() -> None:
    """Where gaps have no scale, the hazard is that of `ttl`: in inverse proportion to the age."""
    law = GapLaw(math.log(60.0), 1.0)
    assert gap_rate_per_s(law, DAY_S) * DAY_S == pytest.approx(1.0, rel=1e-3)
    assert gap_mass(law, 2 * DAY_S) - gap_mass(law, DAY_S) == pytest.approx(math.log(2), rel=1e-3)


def test_no_age_has_no_mass() -> None:
    assert gap_mass(GapLaw(5.0, 2.0), 0.0) == 0.0
    assert gap_mass(GapLaw(5.0, 2.0), -1.0) == 0.0
