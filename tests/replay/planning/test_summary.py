import numpy as np
import pytest

from bestbefore.policies.models.renewal.laws import Weibull
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.moments import Crawls, Punctuality
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, best_plan
from bestbefore.replay.planning.slotted import slotted
from bestbefore.replay.planning.summary import period_shown, summary


def told(
    rates: list[float], weights: list[float] | None = None, most: list[float] | None = None, *,
    objective: str = "freshness", budget: float = 5.0, discrete: bool = False, boundary: str = "periodic",
) -> str:
    n = len(rates)
    objects = PlannedObjects(
        Ids.of(f"o{row}" for row in range(n)), np.array(rates), np.ones(n) if weights is None else np.array(weights),
        maximum=None if most is None else np.array(most),
    )
    aim = Aim(objective, budget, 86400.0, discrete, "interval" if boundary == "interval" else "periodic")
    return summary(best_plan(objects, aim), None, None)


def test_the_plan_is_compared_with_the_plain_ones() -> None:
    """Five objects of 1 to 5 updates a day and 5 contacts: table III and IV of Cho and Garcia-Molina."""
    text = told([1.0, 2.0, 3.0, 4.0, 5.0])
    assert text.startswith("5 objects with 15 updates per day; 5 contacts per day; planned for freshness\n")
    assert "\nthis plan        0.3739  without end  without end\n" in text
    assert "\nuniform          0.3651         6.1h          12h\n" in text
    assert "\nproportional     0.3167           9h          12h\n" in text
    assert "freshness: 2.42 % higher than uniform, 18 % higher than proportional\n" in text


def test_what_is_given_up_is_said_with_its_reason() -> None:
    text = told([1.0, 9.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0], [9.0, 9.0, 9.0, 9.0, 0.0], budget=1.0)
    assert "4 of 5 objects without a contact:\n" in text
    assert "  1 never change\n  1 have the weight 0\n  1 have the maximum 0\n" in text
    assert "  1 given up, with 75 % of all updates: they change so often" in text
    assert "(the slowest: 9 updates per day and unit of weight)" in text


def test_what_is_current_anyway_is_not_given_up_for_changing_often() -> None:
    text = told([0.01, 8.0], budget=1, discrete=True, boundary="interval")
    assert "  1 are mostly current to the end of the day without a contact" in text


def test_a_plan_without_losers_is_reported() -> None:
    text = told([1.0, 1.0], objective="age", budget=2.0)
    assert "age: as uniform, as proportional" in text
    assert "no object is without a contact" in text
    assert "gain most" not in text


def test_ages_and_delays_are_less_not_higher() -> None:
    text = told([1.0, 4.0], objective="delay", budget=3.0)
    assert "delay: 10 % less than uniform, 10 % less than proportional" in text


def test_an_endless_delay_is_called_so() -> None:
    assert "without end under proportional" in told([0.1, 9.0], objective="delay", budget=2, discrete=True)


def test_the_objects_that_gain_and_lose_most_are_shown() -> None:
    text = told([1.0, 2.0, 3.0, 4.0, 5.0])
    gain, lose = text.split("gain most over a uniform plan")[1].split("those that lose most")
    assert [line.split()[0] for line in gain.strip().splitlines()[1:3]] == ["o1", "o2"]
    assert lose.strip().splitlines()[1].split() == ["o4", "5", "1", "1", "0", "0.1987", "0"]


def test_rates_of_any_size_have_few_characters() -> None:
    text = told([1e200, 123_456.7, 1.23456], budget=2.0)
    assert "1e+200" in text
    assert " 123,457 " in text
    assert all(len(line) < 100 for line in text.splitlines() if line.startswith("  o"))


def test_laws_moments_and_slots_are_reported() -> None:
    laws, misfit = {0: Weibull(2.0, 0.56)}, np.array([3.0, np.nan])
    objects = PlannedObjects(Ids.of(["a", "b"]), np.array([2.0, 1.0]), np.ones(2), laws=laws, misfit=misfit)
    plan = best_plan(objects, Aim("freshness", 2.0, 86400.0, discrete=True))
    crawls = Crawls(np.array([0, 1]), np.array([43200.0, 43200.0]), np.zeros(2, dtype=np.bool_))
    text = summary(plan, Punctuality(6.0, 5.5), slotted(crawls, objects.ids, [24], 86400.0))
    assert "laws of updates: 1 poisson, 1 weibull\n  fitted to 1 object with three updates or more; 1 lie far" in text
    assert "one waits 5.5h on average at contacts that follow them, 6h at evenly spaced ones" in text
    assert "2 contacts in 1 x 24 slots of 60m; from the best moment: mean 0.5 slots, largest 1\n  100 % wit" in text


@pytest.mark.parametrize(("period_s", "shown"), [(86400.0, "day"), (604800.0, "week"), (5400.0, "90m")])
def test_a_period_has_a_name(period_s: float, shown: str) -> None:
    assert period_shown(period_s) == shown
