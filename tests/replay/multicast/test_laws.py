import numpy as np
import pytest

from bestbefore.replay.multicast.laws import LAWS

PAGES = 200_000


@pytest.mark.parametrize(("name", "least", "mean"), [("A", 1.0, 108.0), ("B", 2.0, 74.9), ("fixed", 75.0, 75.0),
                                                     ("uniform", 1.0, 75.0)])
def test_intervals_have_this_least_and_mean(name: str, least: float, mean: float) -> None:
    days = LAWS[name](np.random.default_rng(1), PAGES)
    assert len(days) == PAGES
    assert days.min() == pytest.approx(least, abs=0.01)
    assert days.mean() == pytest.approx(mean, rel=0.01)


def test_every_law_has_a_case_here() -> None:
    assert set(LAWS) == {"A", "B", "fixed", "uniform"}
