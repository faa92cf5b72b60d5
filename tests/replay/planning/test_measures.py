import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Empirical, Weibull
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.laws import MODELS
from bestbefore.replay.planning.measures import age, delay, freshness
from bestbefore.replay.planning.objects import Law, PlannedObjects


def objects(rates: list[float], laws: dict[int, Law] | None = None) -> PlannedObjects:
    return PlannedObjects(Ids.of(map(str, range(len(rates)))), np.array(rates), np.ones(len(rates)), laws=laws or {})


def test_random_updates_have_the_closed_forms() -> None:
    """At r = 1 the freshness is 1 - 1/e; of 2 updates with 2 contacts each waits a quarter on average."""
    some, contacts = objects([2.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])
    assert_allclose(freshness(some, contacts, "periodic"), [1.0 - math.exp(-1.0), 1.0, 0.0], rtol=1e-15)
    assert delay(some, contacts, "periodic").tolist() == [0.5, 0.0, math.inf]
    assert_allclose(age(some, contacts, "periodic"), [(0.5 - math.exp(-1.0)) / 2.0, 0.0, math.inf], rtol=1e-14)


def test_with_current_copies_at_the_beginning_there_is_one_interval_more() -> None:
    some, contacts = objects([2.0, 5.0]), np.array([1.0, 0.0])
    expected = objectives.freshness(some.rates, contacts + 1.0)
    assert freshness(some, contacts, "interval").tolist() == expected.tolist()


def test_a_weibull_law_of_shape_1_is_worth_what_a_poisson_one_is() -> None:
    rates, contacts = [4.0, 0.5], np.array([3.0, 0.25])
    plain, same = objects(rates), objects(rates, {row: Weibull(1.0, 1.0 / rate) for row, rate in enumerate(rates)})
    for measure in (freshness, age, delay):
        assert_allclose(measure(same, contacts, "periodic"), measure(plain, contacts, "periodic"), rtol=1e-10)


def test_updates_at_regular_intervals_by_hand() -> None:
    """Updates every 1/2, contacts every 1/4: one is in the interval every second time, at any moment of it.

    So a copy t after its contact is stale with the probability 2t: half the mean of 1/4 of it, and 0.75 fresh.
    """
    some = objects([2.0], {0: Empirical.of([0.5])})
    assert freshness(some, np.array([4.0]), "periodic")[0] == pytest.approx(0.75)
    assert age(some, np.array([4.0]), "periodic")[0] == pytest.approx(0.25**2 / 3.0)


def test_potential_updates_by_hand() -> None:
    """Two moments with the probability 1/2; contacts at both leave nothing stale, none leaves all stale.

    One contact, at the first: fresh for half the period, then stale with the probability 1/2.
    """
    law = MODELS["quasi-deterministic"](1.0, 2.0)
    assert law is not None
    some = objects([1.0, 1.0, 1.0], {0: law, 1: law, 2: law})
    assert_allclose(freshness(some, np.array([0.0, 1.0, 2.0]), "periodic"), [0.0, 0.75, 1.0])
    assert_allclose(age(some, np.array([0.0, 1.0, 2.0]), "periodic"), [math.inf, 0.0625, 0.0])
    assert_allclose(delay(some, np.array([0.0, 1.0, 2.0]), "periodic"), [math.inf, 0.25, 0.0])
