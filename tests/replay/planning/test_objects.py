import numpy as np

from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.objects import PlannedObjects


def test_what_is_not_bounded_may_have_any_number_of_contacts() -> None:
    objects = PlannedObjects(Ids.of(["a", "b"]), np.ones(2), np.ones(2), maximum=np.array([3.0, np.inf]))
    least, most = objects.bounds()
    assert (len(objects), least.tolist(), most.tolist()) == (2, [0.0, 0.0], [3.0, np.inf])
