import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.likelihood import LogLikelihood, most_likely

HOUR = 3600.0
few = settings(max_examples=100, derandomize=True, deadline=None)


def flags(hours: list[float], changed: list[bool]) -> Evidence:
    return evidence_at_contacts(np.array(hours) * HOUR, np.array(changed, dtype=bool))


seen_anyhow = st.builds(
    lambda updates, open_h, changed_h: Evidence(updates, open_h, np.array(changed_h)),
    st.integers(0, 50), st.floats(0.01, 1e5), st.lists(st.floats(0.01, 1e5), max_size=8),
)


def test_of_a_complete_history_it_is_the_number_over_the_time() -> None:
    assert most_likely(Evidence(6, 24.0)).rate_per_hour == pytest.approx(0.25)


def test_where_the_latest_updates_are_known_it_is_their_number_over_the_hours_since() -> None:
    quiet_s = np.array([0.5, math.nan, 1.5]) * HOUR
    seen = evidence_at_contacts(np.full(3, 2 * HOUR), np.array([True, False, True]), quiet_s)
    assert most_likely(seen).rate_per_hour == pytest.approx(2 / 4)


def test_of_regular_polls_it_is_the_logarithm_of_the_share_that_found_no_change() -> None:
    assert most_likely(flags([2.0] * 10, [True] * 3 + [False] * 7)).rate_per_hour == pytest.approx(-math.log(0.7) / 2)


def test_of_two_intervals_it_is_the_root_one_finds_on_paper() -> None:
    # 1 h changed, 2 h unchanged: ln(1 - e^-x) - 2x is largest where e^-x = 2/3.
    assert most_likely(flags([1.0, 2.0], [True, False])).rate_per_hour == pytest.approx(math.log(1.5))


@few
@given(seen_anyhow)
def test_it_is_where_the_likelihood_is_largest(seen: Evidence) -> None:
    likelihood = LogLikelihood.of(seen)
    u = likelihood.maximum()
    if u == -math.inf:
        assert not seen.changes
        return
    grid = np.linspace(u - 5, u + 5, 2001)
    assert likelihood.on(grid).max() <= likelihood.at(u) + 1e-9 * max(1.0, abs(likelihood.at(u)))
    assert likelihood.on(np.array([u]))[0] == pytest.approx(likelihood.at(u))


@few
@given(seen_anyhow)
def test_slope_and_curvature_are_those_of_the_likelihood(seen: Evidence) -> None:
    likelihood = LogLikelihood.of(seen)
    for u in (-9.0, -2.0, 0.5):
        step = 1e-4
        values = [likelihood.at(u - step), likelihood.at(u + step)]
        size = max(1.0, *map(abs, values))
        assert likelihood.slope(u) == pytest.approx((values[1] - values[0]) / (2 * step), abs=1e-5 * size)
        slopes = likelihood.slope(u + step) - likelihood.slope(u - step)
        assert likelihood.curvature(u) == pytest.approx(slopes / (2 * step), abs=1e-5 * size)


@few
@given(seen_anyhow, st.sampled_from([0.5, 0.9, 0.999]))
def test_the_interval_ends_where_the_likelihood_has_fallen_far_enough(seen: Evidence, confidence: float) -> None:
    estimate = most_likely(seen, confidence=confidence)
    likelihood = LogLikelihood.of(seen)
    if not seen.changes:
        return
    assert estimate.low_per_hour < estimate.rate_per_hour < estimate.high_per_hour
    ends = [likelihood.at(math.log(end)) for end in (estimate.low_per_hour, estimate.high_per_hour)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)
    assert ends[0] < likelihood.at(likelihood.maximum())


def test_never_found_changed_the_rate_is_0_and_three_updates_in_the_time_are_plausible() -> None:
    estimate = most_likely(flags([1.0] * 10, [False] * 10))
    assert (estimate.rate_per_hour, estimate.low_per_hour) == (0.0, 0.0)
    assert estimate.high_per_hour == pytest.approx(1.959964**2 / 2 / 10, rel=1e-6)


def test_always_found_changed_no_rate_is_too_high() -> None:
    estimate = most_likely(flags([1.0] * 10, [True] * 10))
    assert estimate.rate_per_hour == estimate.high_per_hour == math.inf
    assert 10 * math.log1p(-math.exp(-estimate.low_per_hour)) == pytest.approx(-(1.959964**2) / 2, rel=1e-6)


@pytest.mark.parametrize("n", [1, 1000])
@pytest.mark.parametrize("hours", [1e-9, 1e9])
def test_the_low_end_of_an_object_that_always_changed_is_found_at_any_scale(n: int, hours: float) -> None:
    low = most_likely(flags([hours] * n, [True] * n)).low_per_hour
    assert n * math.log1p(-math.exp(-low * hours)) == pytest.approx(-(1.959964**2) / 2, rel=1e-5)


def test_of_nothing_seen_nothing_is_known() -> None:
    estimate = most_likely(Evidence())
    assert (estimate.rate_per_hour, estimate.low_per_hour, estimate.high_per_hour) == (0.0, 0.0, math.inf)


def test_the_95_percent_interval_holds_the_rate_95_times_in_a_hundred_at_irregular_polls() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(600):
        hours = random.exponential(1.0, 50)
        estimate = most_likely(evidence_at_contacts(hours * HOUR, random.random(50) < -np.expm1(-0.7 * hours)))
        held += estimate.low_per_hour <= 0.7 <= estimate.high_per_hour
    assert 0.925 < held / 600 < 0.975
