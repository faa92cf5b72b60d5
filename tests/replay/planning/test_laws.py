import math

import pytest

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Weibull
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.replay.planning.laws import MODELS, name_of, shape_of


@pytest.mark.parametrize(("model", "shape"), [("weibull", 0.5), ("weibull", 3.0), ("pareto", 1.5)])
def test_a_law_has_the_rate_of_the_object(model: str, shape: float) -> None:
    law = MODELS[model](4.0, shape)
    assert isinstance(law, Weibull | Pareto)
    assert 1.0 / law.mean == pytest.approx(4.0, rel=1e-14)
    assert (name_of(law), shape_of(law)) == (model, shape)


def test_a_weibull_law_of_shape_1_is_poisson() -> None:
    assert MODELS["weibull"](4.0, 1.0) == Weibull(1.0, 0.25)
    assert MODELS["poisson"](4.0, math.nan) is None


def test_potential_updates_are_spread_over_the_period() -> None:
    law = MODELS["quasi-deterministic"](1.0, 4.0)
    assert isinstance(law, PotentialUpdates)
    assert law.times.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert law.probabilities.tolist() == [0.25] * 4
    assert (name_of(law), shape_of(law)) == ("quasi-deterministic", 4.0)


@pytest.mark.parametrize(("model", "shape", "expected"), [
    ("weibull", 0.0, "from 0.01 up"), ("weibull", math.nan, "from 0.01 up"), ("weibull", math.inf, "from 0.01 up"),
    ("pareto", 1.0, "above 1"), ("pareto", math.nan, "above 1"),
    ("quasi-deterministic", 4.5, "whole number"), ("quasi-deterministic", 1.0, "at least its rate 2"),
    ("quasi-deterministic", 97.0, "at most 96"), ("quasi-deterministic", math.nan, "whole number"),
])
def test_an_impossible_shape_is_refused(model: str, shape: float, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        MODELS[model](2.0, shape)


def test_a_law_without_parameters_has_no_shape() -> None:
    assert name_of(None) == "poisson"
    assert name_of(Empirical.of([1.0])) == "empirical"
    assert math.isnan(shape_of(None))
    assert math.isnan(shape_of(Empirical.of([1.0])))
