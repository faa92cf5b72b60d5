import numpy as np
import pytest

from bestbefore.replay.papers.crawling.heavy_tail import after_an_update, at_a_random_moment, values

ONE = np.ones(1)


def test_after_an_update_staleness_is_the_time_since_the_interval_ended() -> None:
    # a = 1: b is the median; the integral of t / (b+t) over the day
    median = np.log(2.0)
    assert after_an_update(1.0, ONE, ONE) == pytest.approx([1.0 - median * np.log1p(1.0 / median)])


def test_at_a_random_moment_staleness_is_that_of_equation_3() -> None:
    # a = 2, b = 1: the tail of the time to the next update is 1 / (1+t)
    assert at_a_random_moment(2.0, ONE, ONE) == pytest.approx([1.0 - np.log(2.0)])


@pytest.mark.parametrize("staleness", [at_a_random_moment, after_an_update])
def test_a_large_parameter_is_nearly_a_poisson_process(staleness) -> None:
    assert staleness(1e6, ONE, ONE) == pytest.approx([np.exp(-1.0)], rel=1e-5)


def test_staleness_falls_with_the_parameter_at_a_random_moment_and_rises_after_an_update() -> None:
    fallen = [values(at_a_random_moment, a, 500) for a in (4.0, 2.0, 1.05)]
    risen = [values(after_an_update, a, 500) for a in (4.0, 2.0, 0.5, 0.1)]
    for scheme in range(3):
        assert [row[scheme] for row in fallen] == sorted((row[scheme] for row in fallen), reverse=True)
        assert [row[scheme] for row in risen] == sorted(row[scheme] for row in risen)
    for best, proportional, uniform in (*fallen, *risen):
        assert best <= uniform < proportional
