"""Budgets for targets, against the plans that they make."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.owners import Owners
from bestbefore.replay.planning.plan import Aim, best_plan, means
from bestbefore.replay.planning.target import PlanTarget, budget_for

RATES = np.geomspace(0.05, 20.0, 40)
OBJECTS = PlannedObjects(Ids.of(map(str, range(40))), RATES, np.ones(40))


def test_a_target_is_a_measure_and_its_value():
    assert PlanTarget.parse("freshness=0.8") == PlanTarget("freshness", 0.8)
    assert PlanTarget.parse("age=2h") == PlanTarget("age", 7200.0)
    assert PlanTarget.parse("delay = 10m") == PlanTarget("delay", 600.0)


@pytest.mark.parametrize("text", ["", "freshness", "freshness=1", "freshness=10m", "delay=0", "delay=inf", "speed=3"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}|could not|is not a duration"):
        PlanTarget.parse(text)


@pytest.mark.parametrize("text", ["freshness=0.8", "age=1h", "delay=90m"])
@pytest.mark.parametrize("discrete", [False, True])
def test_the_budget_reaches_the_target_and_less_does_not(text, discrete):
    target = PlanTarget.parse(text)
    aim = Aim(target.measure, math.nan, DAY_S, discrete)
    budget = budget_for(OBJECTS, aim, target)
    reached = target.excess(target.reached(best_plan(OBJECTS, replace(aim, budget=budget))))
    assert reached <= 1e-5
    less = budget - 1 if discrete else 0.99 * budget
    assert target.excess(target.reached(best_plan(OBJECTS, replace(aim, budget=less)))) > 0.0


def test_what_no_budget_reaches_is_an_error():
    bounded = replace(OBJECTS, minimum=np.zeros(40), maximum=np.ones(40))
    for discrete in (False, True):
        with pytest.raises(ValueError, match=r"no budget reaches freshness=0.99: at best 0\.\d+, with .*, 40$"):
            budget_for(bounded, Aim("freshness", math.nan, DAY_S, discrete), PlanTarget("freshness", 0.99))
    of_one = replace(OBJECTS, owners=Owners(np.zeros(40, dtype=np.intp), 40.0))
    with pytest.raises(ValueError, match=r"no budget reaches freshness=0.99: at best 0\.\d+$"):
        budget_for(of_one, Aim("freshness", math.nan, DAY_S), PlanTarget("freshness", 0.99))


def test_objects_that_do_not_change_need_next_to_no_budget():
    still = PlannedObjects(Ids.of(["a"]), np.zeros(1), np.ones(1))
    assert budget_for(still, Aim("freshness", math.nan, DAY_S), PlanTarget("freshness", 0.5)) < 1e-15
    assert means(best_plan(still, Aim("freshness", 1.0, DAY_S)))["freshness"] == 1.0
