import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.units import DAY_S
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.laws import MODELS
from bestbefore.replay.planning.moments import Moments, common_patterns, crawls_of, evenly, phases
from bestbefore.replay.planning.objects import Law, PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan


def plan(visits: list[float], hourly: np.ndarray | None = None, laws: dict[int, Law] | None = None,
         *, discrete: bool = True, boundary: str = "periodic", period_s: float = DAY_S) -> ContactPlan:
    n = len(visits)
    objects = PlannedObjects(Ids.of(map(str, range(n))), np.ones(n), np.ones(n), hourly=hourly, laws=laws or {})
    aim = Aim("delay", sum(visits), period_s, discrete, "interval" if boundary == "interval" else "periodic")
    return ContactPlan(objects, aim, np.array(visits))


def at_hours(*hours: int) -> np.ndarray:
    """Two objects: of the first a thousand updates in each of these hours, of the second nothing."""
    counts = np.zeros((2, 24), int)
    counts[0, list(hours)] = 1000
    return counts


def test_phases_leave_no_gap_larger_than_three_times_the_mean() -> None:
    for n in (10, 100, 1000):
        gaps = np.diff(np.sort(phases(n)))
        assert gaps.max() < 3.0 / n


def test_frequencies_become_regular_moments() -> None:
    moments = Moments.spaced(plan([4.0, 0.0, 0.5], discrete=False))
    assert_allclose(moments.next_s - moments.first_s, [DAY_S / 4, np.nan, 2 * DAY_S])
    assert 0.0 <= moments.first_s[0] < DAY_S / 4
    assert np.isnan(moments.first_s[1])


def test_visits_cut_a_period_that_begins_with_current_copies() -> None:
    crawls = evenly(np.array([1, 0, 3]), 8.0, "interval")
    assert crawls.rows.tolist() == [0, 2, 2, 2]
    assert crawls.at_s.tolist() == [4.0, 2.0, 4.0, 6.0]
    assert not crawls.released.any()


def test_visits_of_a_period_that_repeats_have_a_phase() -> None:
    crawls = evenly(np.array([2, 4]), 8.0, "periodic")
    assert_allclose(np.diff(crawls.at_s), [4.0, crawls.at_s[2] - crawls.at_s[1], 2.0, 2.0, 2.0])
    assert ((crawls.at_s >= 0.0) & (crawls.at_s < 8.0)).all()


def test_potential_updates_are_awaited() -> None:
    law = MODELS["quasi-deterministic"](1.0, 4.0)
    assert law is not None
    crawls, _ = crawls_of(plan([2.0, 1.0], laws={0: law}))
    assert (np.diff(crawls.at_s[:2]) == DAY_S / 2).all()
    assert set(crawls.at_s[:2] / (DAY_S / 4)) <= {0.0, 1.0, 2.0, 3.0}
    assert crawls.released.tolist() == [True, True, False]


def test_each_object_is_contacted_after_the_hours_at_which_it_is_updated() -> None:
    """Nearly all updates come from 8 to 9 and from 20 to 21; two contacts are best when these hours end."""
    crawls, punctuality = crawls_of(plan([2.0, 0.0], at_hours(8, 20)))
    assert_allclose(crawls.at_s / 3600.0, [9.0, 21.0])
    assert punctuality is not None
    assert punctuality.at_points_h == pytest.approx(0.5, abs=0.05)
    assert punctuality.evenly_h > punctuality.at_points_h


@pytest.mark.parametrize("other", [{"boundary": "interval"}, {"period_s": 2 * DAY_S}])
def test_hours_matter_only_in_a_day_that_repeats(other: dict[str, object]) -> None:
    crawls, punctuality = crawls_of(plan([2.0, 0.0], at_hours(8), **other))  # type: ignore[arg-type]
    evenly_crawled, _ = crawls_of(plan([2.0, 0.0], **other))  # type: ignore[arg-type]
    assert punctuality is None
    assert crawls.at_s.tolist() == evenly_crawled.at_s.tolist()


def test_without_any_contact_there_is_nothing_to_time() -> None:
    crawls, punctuality = crawls_of(plan([0.0, 0.0], at_hours(8)))
    assert (crawls.rows.size, punctuality) == (0, None)


def test_the_first_two_contacts_are_found_whatever_their_order() -> None:
    crawls = evenly(np.array([1, 0, 3]), 8.0, "interval")
    moments = Moments.of(crawls, np.array([5.0, 6.0, 1.0, 3.0]), 3, 8.0)
    assert_allclose(moments.first_s, [5.0, np.nan, 1.0])
    assert_allclose(moments.next_s, [13.0, np.nan, 3.0])


def test_contacts_at_potential_updates_stay_there_if_hours_are_known() -> None:
    law = MODELS["quasi-deterministic"](1.0, 4.0)
    crawls, punctuality = crawls_of(plan([2.0, 2.0], at_hours(9), {0: law}))
    assert set(crawls.at_s[:2]) <= {0.0, DAY_S / 4, DAY_S / 2, DAY_S * 3 / 4}
    assert crawls.released.tolist() == [True, True, False, False]
    assert punctuality is not None


def test_an_object_leans_on_the_pattern_of_its_likeliest_cluster() -> None:
    """Two objects change in the morning, one in the evening; a fourth with two updates resembles the latter."""
    hourly = np.zeros((4, 24), int)
    hourly[:2, 8], hourly[2, 20], hourly[3, 20] = 3000, 3000, 2
    patterns = common_patterns(hourly, 2)
    assert_allclose(patterns[:, 8], [1.0, 1.0, 0.0, 0.0], atol=0.02)
    assert_allclose(patterns[:, 20], [0.0, 0.0, 1.0, 1.0], atol=0.02)
    assert_allclose(common_patterns(hourly, None)[:, 8], 6000 / 9002)
    assert_allclose(common_patterns(hourly[3:], 2)[0, 20], 1.0)
