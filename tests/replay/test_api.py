"""The public interface: each name is there, says what it is, and is on the page of the reference."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from bestbefore.replay import api

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"


@pytest.mark.parametrize("name", api.__all__)
def test_each_public_name_says_what_it_is(name: str) -> None:
    one = getattr(api, name)
    if not (inspect.isclass(one) or inspect.isfunction(one)):
        return  # a table, which the page describes
    assert one.__module__.startswith("bestbefore.")
    assert one.__doc__
    assert not one.__doc__.startswith(f"{name}(")  # that is what a dataclass has without a docstring
    members = vars(one).items() if inspect.isclass(one) else ()
    methods = {member: method for member, method in members if inspect.isfunction(method) and member[0] != "_"}
    assert [member for member, method in methods.items() if not method.__doc__] == []


def test_the_reference_has_each_public_name_and_no_other() -> None:
    named = re.findall(r"^\.\. (?:auto\w+|py:data):: (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(named) == sorted(api.__all__)


def test_a_plan_is_made_by_what_is_public() -> None:
    """`refresh`, table V: of five objects with 1 to 5 changes a day and five contacts, the last gets none."""
    objects = api.PlannedObjects(api.Ids.of("abcde"), np.arange(1.0, 6.0), np.ones(5))
    plan = api.best_plan(objects, api.Aim("freshness", 5.0, 86400.0))
    assert plan.contacts == pytest.approx([1.15, 1.36, 1.35, 1.14, 0.0], abs=0.005)
    assert plan.mean("freshness") > api.baseline_plan("uniform", plan).mean("freshness")
