import re

import numpy as np

from bestbefore.replay.planning.drawing import MOST_POINTS, drawing
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, best_plan


def picture(rates: list[float], objective: str = "freshness") -> str:
    objects = PlannedObjects(Ids.of(map(str, range(len(rates)))), np.array(rates), np.ones(len(rates)))
    return drawing(best_plan(objects, Aim(objective, float(len(rates)), 86400.0)))


def marks(svg: str) -> int:
    """In the chart; the legend has one more for each series with marks."""
    return len(re.findall(r'<path transform="translate', svg))


def test_each_object_has_a_mark_and_rivals_a_line() -> None:
    svg = picture([1.0, 2.0, 3.0, 4.0, 5.0])
    assert marks(svg) == 5
    for told in ("this plan, for freshness", "without a contact, at the lower edge", "uniform", "proportional"):
        assert f">{told}<" in svg
    assert "updates per day" in svg


def test_each_object_has_a_contact_under_a_plan_for_age() -> None:
    assert "without a contact" not in picture([1.0, 2.0], "age")


def test_of_many_objects_some_are_drawn() -> None:
    assert marks(picture(np.geomspace(0.01, 100.0, 3000).tolist())) <= MOST_POINTS


def test_a_single_object_and_none_that_changes_can_be_drawn() -> None:
    assert marks(picture([1.0])) == 1
    assert "no object changes" in picture([0.0])


def test_rates_at_the_ends_of_float64_can_be_drawn() -> None:
    for rates in ([5e-324, 1.0], [5e-324, 5e-324], [1e-290, 1e290]):
        assert marks(picture(rates)) == 2
        assert marks(picture(rates, "age")) == 2
