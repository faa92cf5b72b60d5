import numpy as np
import pytest

from bestbefore.policies.models.rates.evidence import Evidence

NAN = float("nan")


@pytest.mark.parametrize("seen", [(1, 0.0), (-1, 1.0), (0, -1.0), (0, NAN)])
def test_updates_without_time_and_negative_figures_are_refused(seen: tuple[int, float]) -> None:
    with pytest.raises(ValueError, match="hours"):
        Evidence(*seen)


def test_an_interval_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="changed_h"):
        Evidence(0, 1.0, np.array([1.0, 0.0]))
