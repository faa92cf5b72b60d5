import numpy as np
import pytest

from bestbefore.replay.papers.adaptive.multiples import CURVES, bounds, cells, multiples, sampled
from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.scenario import Cache, Scenario

pytestmark = pytest.mark.usefixtures("few_values")


@pytest.fixture(scope="module")
def scenario(excerpt_work: Work) -> Scenario:
    return Paired.read(excerpt_work).scenario(Cache.SHARED, 8)


def values(cell: str) -> list[float | None]:
    return [None if one == "–" else float(one.split(" ")[0]) for one in cell.split(" / ")]


def test_each_curve_has_a_value_for_each_stale_rate(excerpt_work: Work, scenario: Scenario) -> None:
    found = cells(multiples(excerpt_work, scenario, ""))
    assert list(found) == [curve.name for curve in CURVES]
    assert {len(values(cell)) for cell in found.values()} == {3}
    ttl = [value for value in values(found["TTL"]) if value is not None]
    assert ttl == sorted(ttl, reverse=True)


@pytest.mark.slow
def test_without_a_bound_ttl_needs_what_it_needs(excerpt_work: Work, scenario: Scenario) -> None:
    found = bounds(excerpt_work, scenario)
    assert list(found) == ["inf", "1h"]
    assert set(found["inf"]["TTL"]) <= {1.0, None}


@pytest.mark.slow
def test_resampled_objects_scatter_around_the_recorded_result(excerpt_work: Work, scenario: Scenario) -> None:
    recorded = cells(multiples(excerpt_work, scenario, ""))["TTL"]
    found = sampled(excerpt_work, scenario, 50, np.random.default_rng(3))["TTL"]
    for one, spread in zip(recorded.split(" / "), found.split(" / "), strict=True):
        if "–" not in (one, spread):
            low, high = (float(end.removesuffix(" %")) for end in spread.split(" to "))
            assert low < high
            assert low / 2 < float(one.removesuffix(" %")) < high * 2


def test_without_requests_nothing_is_reached(excerpt_work: Work) -> None:
    nothing = Paired.read(excerpt_work).only([]).scenario(Cache.SHARED, 8)
    unreached = dict.fromkeys((curve.name for curve in CURVES), "– / – / –")
    assert cells(multiples(excerpt_work, nothing, "")) == unreached
    assert sampled(excerpt_work, nothing, 3, np.random.default_rng(3)) == unreached
