import numpy as np
import pytest

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.laws import MODELS
from bestbefore.replay.planning.objects import PlannedObjects


def test_what_is_not_bounded_may_have_any_number_of_contacts() -> None:
    objects = PlannedObjects(Ids.of(["a", "b"]), np.ones(2), np.ones(2), maximum=np.array([3.0, np.inf]))
    least, most = objects.bounds()
    assert (len(objects), least.tolist(), most.tolist()) == (2, [0.0, 0.0], [3.0, np.inf])


@pytest.mark.parametrize(("boundary", "discrete", "least"), [
    ("periodic", False, 2.5), ("periodic", True, 3.0), ("interval", True, 2.0),
])
def test_a_longest_delay_is_a_minimum_for_what_changes(boundary: str, discrete: bool, least: float) -> None:
    objects = PlannedObjects(Ids.of("abc"), np.array([1.0, 0.0, 2.0]), np.ones(3), np.array([0.0, 1.0, 9.0]))
    bounded = objects.contacted_within(0.4, "interval" if boundary == "interval" else "periodic", discrete=discrete)
    assert bounded.bounds()[0].tolist() == [least, 1.0, 9.0]


def test_potential_updates_have_no_longest_delay() -> None:
    law = MODELS["quasi-deterministic"](1.0, 4.0)
    assert law is not None
    with pytest.raises(RowError, match="quasi-deterministic"):
        PlannedObjects(Ids.of("a"), np.ones(1), np.ones(1), laws={0: law}).contacted_within(
            0.5, "periodic", discrete=True
        )
