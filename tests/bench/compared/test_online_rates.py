import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts
from compared.online_rates import Polls, after_contact
from compared.posterior import posterior
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.rates.prior import GammaRate

HOUR = 3600.0
few = settings(max_examples=100, derandomize=True, deadline=None)


def test_an_unchanged_contact_adds_its_hours() -> None:
    assert after_contact(GammaRate(2.0, 5.0), 3 * HOUR, False) == GammaRate(2.0, 8.0)


def test_a_dated_update_adds_itself_and_the_hours_since() -> None:
    assert after_contact(GammaRate(2.0, 5.0), 3 * HOUR, True, 1 * HOUR) == GammaRate(3.0, 6.0)


def test_a_change_without_date_gives_the_mean_and_variance_one_finds_on_paper() -> None:
    # Prior e^-x, times 1 - e^-x: mean 3/2, E[x^2] = 2 (1 - 1/8) / (1/2) = 7/2, so variance 5/4.
    belief = after_contact(GammaRate(1.0, 1.0), HOUR, True)
    assert belief.mean_per_hour == pytest.approx(1.5)
    assert belief.shape == pytest.approx(1.5**2 / 1.25)


@few
@given(st.floats(0.05, 1e4), st.floats(1e-3, 1e5), st.floats(1e-6, 1e6))
def test_a_change_raises_the_mean_and_by_no_more_than_one_known_update_would(
    shape: float, hours: float, length_h: float
) -> None:
    before = GammaRate(shape, hours)
    after = after_contact(before, length_h * HOUR, True)
    assert before.mean_per_hour * (1 - 1e-9) <= after.mean_per_hour <= (shape + 1) / hours * (1 + 1e-9)
    assert shape * (1 - 1e-6) <= after.shape <= (shape + 1) * (1 + 1e-6)


def test_in_a_very_short_interval_there_was_just_one_update() -> None:
    after = after_contact(GammaRate(2.0, 5.0), 1e-6, True)
    assert (after.shape, after.hours) == (pytest.approx(3.0), pytest.approx(5.0))


def test_after_many_contacts_it_agrees_with_the_posterior_that_keeps_them_all() -> None:
    random = np.random.default_rng(4)
    prior = GammaRate(1.5, 3.0)
    for rate in (0.1, 0.5, 3.0):
        hours = random.exponential(1.0, 60)
        changed = random.random(60) < -np.expm1(-rate * hours)
        belief = prior
        for length_h, found in zip(hours, changed, strict=True):
            belief = after_contact(belief, length_h * HOUR, bool(found))
        exact = posterior(evidence_at_contacts(hours * HOUR, changed), prior)
        assert belief.mean_per_hour == pytest.approx(exact.rate_per_hour, rel=0.1)


def test_it_has_next_to_no_bias_over_the_group() -> None:
    random = np.random.default_rng(6)
    logs = []
    for rate in random.gamma(2.0, 0.5, 400):
        belief = GammaRate(2.0, 2.0)
        for length_h in random.exponential(1.0, 50):
            belief = after_contact(belief, length_h * HOUR, bool(random.random() < -math.expm1(-rate * length_h)))
        logs.append(math.log(belief.mean_per_hour / rate))
    assert abs(np.median(logs)) < 0.08


def test_lln_counts_polls() -> None:
    polls = Polls().after(HOUR, True).after(3 * HOUR, False).after(2 * HOUR, True)
    assert polls == Polls(3, 2, 6.0)
    assert polls.rate_per_hour == pytest.approx(0.5 * 2 / 2)


def test_lln_is_finite_before_and_after_changes_only() -> None:
    assert Polls().rate_per_hour == 0.0
    assert Polls(5, 5, 10.0).rate_per_hour == pytest.approx(2.5)


def test_lln_converges_to_the_rate_at_poisson_polls_and_elsewhere_at_regular_ones() -> None:
    random = np.random.default_rng(9)
    polls = regular = Polls()
    for length_h in random.exponential(1.0, 20_000):
        polls = polls.after(length_h * HOUR, bool(random.random() < -math.expm1(-length_h)))
        regular = regular.after(HOUR, bool(random.random() < -math.expm1(-1.0)))
    assert polls.rate_per_hour == pytest.approx(1.0, rel=0.05)
    assert regular.rate_per_hour == pytest.approx(math.e - 1, rel=0.05)


@pytest.mark.parametrize("length_s", [0.0, -1.0, math.nan, math.inf])
def test_a_contact_that_did_not_come_later_is_refused(length_s: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        after_contact(GammaRate(1.0, 1.0), length_s, False)
    with pytest.raises(ValueError, match="expected more than 0"):
        Polls().after(length_s, False)


def test_an_update_dated_before_the_contact_before_is_refused() -> None:
    with pytest.raises(ValueError, match="is not in the last"):
        after_contact(GammaRate(1.0, 1.0), 10.0, True, 11.0)
