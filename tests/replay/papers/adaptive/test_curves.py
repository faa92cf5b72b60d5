import math

import numpy as np
import pytest

from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST_SEGMENTS,
    INDTTL_DAY,
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    at,
    crossing,
    rates,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate import plain_engine
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0


def scenario() -> Scenario:
    rng = np.random.default_rng(1)
    n = 400
    updates = Updates.of(rng.uniform(0, 9 * DAY, 60), rng.integers(0, 3, 60).astype(np.int32), ("a", "b", "c"))
    asked = rng.integers(0, 3, n).astype(np.int32)
    requests = Requests.of(rng.uniform(0, 9 * DAY, n), np.zeros(n, np.int32), asked, ("x",), ("a", "b", "c"))
    return Scenario.of(
        updates, requests, origin_s=0.0, test_start_s=4 * DAY, cache=Cache.SHARED, warn=lambda _: None
    )


def test_each_value_stands_in_each_place_of_the_spec() -> None:
    [point] = INDTTL_DAY.points([0.25])
    assert point.spec == "indttl:theta=0.25,alpha=0.25,window=24h,threshold=2"
    assert INDTTL_DAY.key == "theta"
    assert TTL.key == "alpha"


def test_values_grow_by_a_factor() -> None:
    assert values_between(0.1, 0.4, 3) == pytest.approx([0.1, 0.2, 0.4])


def test_a_series_has_the_counts_of_the_readable_engine() -> None:
    replayed = scenario()
    series = series_of_curves(Work(None, print), replayed, [TTL, AGGHIST_SEGMENTS], [0.1, 0.5], "")
    assert [one.name for one in series] == ["TTL", "AggHist, optimal segments"]
    for one in series:
        for result in one.results:
            assert result.counts == plain_engine.replay(replayed, result.point.policy).by_name()
    assert series[1].results[0].point.policy == AggHist(0.1, 1.0)


def test_without_requests_there_is_nothing_to_count() -> None:
    empty = Scenario.of(
        scenario().updates, scenario().requests.since(20 * DAY), cache=Cache.SHARED, warn=lambda _: None
    )
    [series] = series_of_curves(Work(None, print), empty, [TTL], [0.1, 0.5], "")
    assert rates(series.results[0].counts) == {STALE_RATE: 0.0, VALIDATION_RATE: 0.0}


def test_where_a_line_comes_by_several_times_the_least_counts() -> None:
    assert crossing([(1.0, 16.0), (4.0, 4.0), (1.0, 1.0)], 2.0) == pytest.approx(2.0)
    assert crossing([(1.0, 9.0), (1.0, 5.0)], 1.0) == 5.0
    assert crossing([(1.0, 9.0), (2.0, 5.0)], 2.5) is None


def test_points_without_a_logarithm_are_passed_over() -> None:
    assert crossing([(0.0, 9.0), (1.0, 5.0), (2.0, 0.0)], 0.5) is None
    assert crossing([(0.0, 9.0), (1.0, 8.0), (4.0, 2.0)], 2.0) == pytest.approx(4.0)


def test_one_rate_is_found_where_another_has_a_value() -> None:
    [series] = series_of_curves(Work(None, print), scenario(), [TTL], values_between(0.05, 1.0, 4), "")
    first, second = (rates(result.counts) for result in series.results[:2])
    middle = math.sqrt(first[VALIDATION_RATE] * second[VALIDATION_RATE])
    expected = math.sqrt(first[STALE_RATE] * second[STALE_RATE])
    assert at(series, VALIDATION_RATE, middle, STALE_RATE) == pytest.approx(expected)
    assert at(series, VALIDATION_RATE, 1.5, STALE_RATE) is None
