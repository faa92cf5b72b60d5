"""For many at once each number is, to the last bit, what the policies' own function gives for one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models import intensity
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.replay.kernels.intensity_vectorised import (
    expected_updates,
    exposure_h,
    first_passage_s,
    observed_rates_per_hour,
)

DAY = 86400.0

moments = st.one_of(st.integers(0, 96).map(lambda n: n * 1800.0), st.floats(0.0, 9 * DAY))
counts = st.lists(st.sampled_from([0, 0, 0, 1, 2, 7]), min_size=24, max_size=24)
spans = st.lists(st.tuples(moments, moments).map(sorted), min_size=1, max_size=5)


@pytest.fixture(autouse=True)
def _silenced():
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        yield


@given(spans)
@settings(max_examples=100, derandomize=True)
def test_exposure(spans: list[list[float]]) -> None:
    starts_s, ends_s = np.array(spans).T
    expected = [intensity.exposure_h(HOURLY_S, start_s, end_s) for start_s, end_s in spans]
    assert exposure_h(starts_s, ends_s).T.tolist() == expected


@given(st.lists(counts, min_size=5, max_size=5), spans, st.sampled_from([0.0, 1.0]))
@settings(max_examples=100, derandomize=True)
def test_rates_and_the_updates_that_they_let_expect(
    counted: list[list[int]], spans: list[list[float]], least_h: float
) -> None:
    hours = [intensity.exposure_h(HOURLY_S, start_s, end_s) for start_s, end_s in spans]
    expected = [intensity.observed_rates_per_hour(c, h, least_h) for c, h in zip(counted, hours, strict=False)]
    rates = observed_rates_per_hour(np.array(counted[: len(hours)]).T, np.array(hours).T, least_h)
    assert rates.T.tolist() == expected
    updates = [intensity.expected_updates(r, h) for r, h in zip(expected, hours, strict=True)]
    assert expected_updates(rates, np.array(hours).T).tolist() == updates


@given(
    st.lists(st.tuples(counts, moments, st.sampled_from([0.0, 0.1, 1.0, 7.0, 30.0, 1e9])), min_size=1, max_size=5),
    st.sampled_from([1.0, 0.3, 1e-12]),
)
@settings(max_examples=200, derandomize=True)
def test_first_passage(contacts: list[tuple[list[int], float, float]], scale: float) -> None:
    rates = [[scale * n for n in counted] for counted, _, _ in contacts]
    starts_s, thetas = [s for _, s, _ in contacts], [theta for _, _, theta in contacts]
    expected = [
        intensity.first_passage_s(HOURLY_S, *one) for one in zip(rates, starts_s, thetas, strict=True)
    ]
    assert first_passage_s(np.array(rates).T, np.array(starts_s), np.array(thetas)).tolist() == expected
