import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Weibull
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.laws import MODELS
from bestbefore.replay.planning.objects import Law, PlannedObjects
from bestbefore.replay.planning.plan import Aim, baseline_plan, best_plan, rounded_to_whole


def objects(
    rates: list[float],
    weights: list[float] | None = None,
    least: list[float] | None = None,
    most: list[float] | None = None,
    laws: dict[int, Law] | None = None,
) -> PlannedObjects:
    return PlannedObjects(
        Ids.of(map(str, range(len(rates)))),
        np.array(rates),
        np.ones(len(rates)) if weights is None else np.array(weights),
        None if least is None else np.array(least),
        None if most is None else np.array(most),
        laws or {},
    )


def aim(objective: str, budget: float, *, discrete: bool = False, boundary: str = "periodic") -> Aim:
    return Aim(objective, budget, 86400.0, discrete, "interval" if boundary == "interval" else "periodic")


FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(("objective", "printed"), [
    ("freshness", [1.15, 1.36, 1.35, 1.14, 0.00]), ("age", [0.84, 0.97, 1.03, 1.07, 1.09]),
])
def test_the_frequencies_that_cho_and_garcia_molina_print(objective: str, printed: list[float]) -> None:
    """Their table IV; the first age is .835, printed .84."""
    assert_allclose(best_plan(objects(FIVE), aim(objective, 5.0)).contacts, printed, atol=0.0055)


def test_bounds_are_kept_in_real_numbers_too() -> None:
    plan = best_plan(objects([1.0, 4.0], least=[0.0, 0.0], most=[0.5, 9.0]), aim("delay", 3.0))
    assert_allclose(plan.contacts, [0.5, 2.5])


@pytest.mark.parametrize("objective", ["freshness", "age", "delay"])
@pytest.mark.parametrize("boundary", ["periodic", "interval"])
def test_no_other_whole_numbers_are_better(objective: str, boundary: str) -> None:
    some = objects([0.7, 2.0, 5.0], [1.0, 0.5, 2.0])
    best = best_plan(some, aim(objective, 6, discrete=True, boundary=boundary))
    sign = 1.0 if objective == "freshness" else -1.0
    others = [
        sign * type(best)(some, best.aim, np.array([a, b, 6.0 - a - b])).mean(objective)
        for a in range(7) for b in range(7 - a)
    ]
    assert best.contacts.sum() == 6
    assert sign * best.mean(objective) == pytest.approx(max(others), rel=1e-12)


def test_models_are_planned_together_with_random_updates() -> None:
    """Of the visits to all, none could gain more elsewhere: compared with every other division of 4."""
    quasi = MODELS["quasi-deterministic"](2.0, 4.0)
    assert quasi is not None
    some = objects([2.0, 2.0, 2.0, 0.0], laws={1: Weibull(3.0, 0.56), 2: quasi})
    best = best_plan(some, aim("freshness", 4, discrete=True))
    others = [
        type(best)(some, best.aim, np.array([a, b, 4.0 - a - b, 0.0])).mean("freshness")
        for a in range(5) for b in range(5 - a)
    ]
    assert best.mean("freshness") == pytest.approx(max(others), rel=1e-12)


def test_an_object_that_is_never_updated_gets_its_minimum_beside_laws() -> None:
    some = objects([2.0, 0.0], least=[0.0, 1.0], laws={0: Weibull(2.0, 0.5)})
    assert best_plan(some, aim("freshness", 3, discrete=True)).contacts.tolist() == [2.0, 1.0]
    assert best_plan(some, aim("freshness", 1, discrete=True)).contacts.tolist() == [0.0, 1.0]
    demanding = objects([2.0, 0.0], least=[0.0, 5.0], laws={0: Weibull(2.0, 0.5)})
    with pytest.raises(ValueError, match="the least numbers of visits add up to 5"):
        best_plan(demanding, aim("freshness", 3, discrete=True))


@pytest.mark.parametrize(("objective", "discrete", "problem"), [
    ("freshness", False, "needs --discrete"), ("age", False, "needs --discrete"), ("age", True, "not for age"),
])
def test_a_model_that_does_not_suit_the_aim_is_refused_by_row(objective: str, discrete: bool, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as caught:
        best_plan(objects([1.0, 2.0], laws={1: Weibull(2.0, 0.5)}), aim(objective, 3, discrete=discrete))
    assert caught.value.row == 1


def test_potential_updates_are_planned_for_freshness_only() -> None:
    quasi = MODELS["quasi-deterministic"](2.0, 4.0)
    assert quasi is not None
    with pytest.raises(RowError, match="planned for freshness, not for delay"):
        best_plan(objects([2.0], laws={0: quasi}), aim("delay", 3, discrete=True))


def test_the_delay_is_the_same_under_all_models() -> None:
    some, plain = objects([1.0, 4.0], laws={1: Weibull(2.0, 0.3)}), objects([1.0, 4.0])
    assert best_plan(some, aim("delay", 3.0)).contacts.tolist() == best_plan(plain, aim("delay", 3.0)).contacts.tolist()


def test_in_a_plan_that_repeats_delays_are_endless_without_a_contact() -> None:
    some = objects([1.0, 2.0, 0.0, 3.0], [1.0, 1.0, 1.0, 0.0])
    assert best_plan(some, aim("delay", 2, discrete=True)).contacts.tolist() == [1.0, 1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="each of the 2 objects that change needs a contact"):
        best_plan(some, aim("delay", 1, discrete=True))
    begun_anew = best_plan(some, aim("delay", 1, discrete=True, boundary="interval"))
    assert begun_anew.contacts.tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(("budget", "problem"), [
    (1.5, "whole number"), (2.0, "add up to 3"), (1e300, "expected at most 9,007,199,254,740,992 contacts"),
])
def test_an_impossible_number_of_visits_is_refused(budget: float, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        best_plan(objects([1.0, 2.0], least=[1.0, 2.0]), aim("freshness", budget, discrete=True))


def test_rivals_have_the_same_budget_and_bounds() -> None:
    plan = best_plan(objects([1.0, 2.0, 7.0], most=[9.0, 9.0, 5.0]), aim("freshness", 10.0))
    assert_allclose(baseline_plan("proportional", plan).contacts, [5 / 3, 10 / 3, 5.0])
    assert_allclose(baseline_plan("uniform", plan).contacts, [10 / 3] * 3)


def test_rivals_of_whole_numbers_are_whole() -> None:
    plan = best_plan(objects([1.0, 2.0, 7.0]), aim("freshness", 8, discrete=True))
    assert baseline_plan("uniform", plan).contacts.tolist() == [3.0, 3.0, 2.0]
    assert baseline_plan("proportional", plan).contacts.tolist() == [1.0, 2.0, 5.0]


@pytest.mark.parametrize(("given", "whole"), [
    ([0.5, 0.5, 2.0], [1.0, 0.0, 2.0]), ([0.4, 0.9, 1.7], [0.0, 1.0, 2.0]), ([2.0, 3.0], [2.0, 3.0]), ([], []),
])
def test_the_largest_remainders_are_rounded_up(given: list[float], whole: list[float]) -> None:
    assert rounded_to_whole(np.array(given)).tolist() == whole
