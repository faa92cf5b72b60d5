import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Empirical, Weibull
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.planning.inputs.trace_objects import learnt
from bestbefore.replay.traces.columns.columns import Updates


def trace(**times_s: list[float]) -> Updates:
    """The updates of objects by name."""
    ids = np.repeat(np.arange(len(times_s)), [len(times) for times in times_s.values()]).astype(np.int32)
    return Updates.of(np.concatenate([np.array(times, dtype=float) for times in times_s.values()]), ids, tuple(times_s))


def test_the_rate_of_many_updates_is_their_number_after_the_first_by_the_time_since() -> None:
    """A prior counts as a few updates; these are two thousand."""
    rng = np.random.default_rng(1)
    quick = np.cumsum(rng.exponential(DAY_S / 20.0, 2001))
    slow = [0.0, quick[-1] / 2]
    objects = learnt(trace(quick=quick.tolist(), slow=slow), DAY_S, with_laws=False)
    assert objects.rates[0] == pytest.approx(2000 * DAY_S / (quick[-1] - quick[0]), rel=0.01)
    assert objects.rates[1] < 0.1
    assert objects.ids[0] == "quick"
    assert objects.weights.tolist() == [1.0, 1.0]


def test_an_object_that_came_late_is_not_slower_for_it() -> None:
    early = np.arange(0.0, 100.0 * DAY_S, DAY_S)
    objects = learnt(trace(early=early.tolist(), late=early[-20:].tolist()), DAY_S, with_laws=False)
    assert_allclose(objects.rates, 1.0, rtol=0.02)


def test_an_object_with_one_update_has_a_rate_too() -> None:
    many = np.arange(0.0, 100.0 * DAY_S, DAY_S).tolist()
    objects = learnt(trace(many=many, once=[many[-1]], long_ago=[0.0]), DAY_S, with_laws=False)
    assert 0.0 < objects.rates[2] < objects.rates[1] < 2.0


def test_rates_are_per_period() -> None:
    updates = trace(a=np.arange(0.0, 50.0 * DAY_S, DAY_S).tolist(), b=[0.0, 9.0])
    days, hours = (learnt(updates, period_s, with_laws=False).rates for period_s in (DAY_S, HOUR_S))
    assert_allclose(days, 24.0 * hours)


def test_laws_are_fitted_where_there_are_two_intervals() -> None:
    rng = np.random.default_rng(2)
    regular = np.cumsum(3600.0 * rng.weibull(4.0, 400))
    random = np.cumsum(rng.exponential(3600.0, 400))
    random = random[random < regular[-1]]
    objects = learnt(trace(regular=regular.tolist(), random=random.tolist(), two=[0.0, 99.0]), DAY_S, with_laws=True)
    law = objects.laws[0]
    assert list(objects.laws) == [0]
    assert isinstance(law, Weibull)
    assert law.shape == pytest.approx(4.0, rel=0.15)
    assert objects.rates[0] == pytest.approx(1.0 / law.mean)
    assert objects.misfit is not None
    assert (objects.misfit[:2] < 2.492).all()
    assert np.isnan(objects.misfit[2])


def test_an_interval_that_has_not_ended_and_is_longer_than_all_counts() -> None:
    """Two clusters of intervals fit no law; then, nothing for a hundred times as long."""
    intervals = np.tile([60.0, 61.0, 600.0, 601.0], 10)
    dead = np.concatenate(([0.0], np.cumsum(intervals)))
    objects = learnt(trace(dead=dead.tolist(), other=[0.0, 1e6]), DAY_S, with_laws=True)
    law = objects.laws[0]
    assert isinstance(law, Empirical)
    assert objects.rates[0] == pytest.approx(41 * DAY_S / 1e6)


def test_hours_are_those_of_the_utc_day() -> None:
    objects = learnt(trace(a=[0.0, 3 * HOUR_S, DAY_S + 3.9 * HOUR_S], b=[5 * HOUR_S]), DAY_S, with_laws=False)
    assert objects.hourly is not None
    assert objects.hourly[0, [0, 3]].tolist() == [1, 2]
    assert objects.hourly.sum(axis=1).tolist() == [3, 1]


def test_a_trace_without_repeated_updates_has_no_rates() -> None:
    with pytest.raises(ValueError, match="no object has two updates"):
        learnt(trace(a=[0.0], b=[5.0]), DAY_S, with_laws=False)
