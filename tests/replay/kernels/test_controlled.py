import math

import numpy as np
import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.control import PERIOD_S, mean_rate_per_s
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.kernels.controlled import Controlled, Uncontrolled
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.controlled_prices import ControlledPrices

OBJECTS = ("a/0", "a/1", "b/0")


def test_the_arrays_hold_what_the_plain_engine_holds() -> None:
    rng = np.random.default_rng(4)
    plain = ControlledPrices(parse_spec("ttl:stale_rate=0.05"), Grouping.PREFIX)
    arrays = Controlled.nothing(0.05, len(OBJECTS), 2)
    history, t = History.of([5.0], 0.0), 10.0
    for stream, name in enumerate(OBJECTS):
        plain.price(name, "", history, t)
        arrays.set_price(stream, stream // 2, t, mean_rate_per_s(1, t))
    for gap_s in rng.exponential(PERIOD_S / 20, 300):
        t += gap_s * (30 if t > 9 * PERIOD_S else 1)
        stream = int(rng.integers(len(OBJECTS)))
        name, group = OBJECTS[stream], stream // 2
        if rng.random() < 0.7:
            plain.hit(name, "", t)
            arrays.count_hit(stream, group, t)
            continue
        changed = bool(rng.random() < 0.3)
        plain.validated(name, "", t, changed)
        arrays.count_validation(stream, group, t, changed)
        price = arrays.set_price(stream, group, t, mean_rate_per_s(1, t))
        assert price == plain.price(name, "", history, t)
    assert price != pytest.approx(0.6)


def test_without_a_target_the_policy_has_its_own_price() -> None:
    none = Uncontrolled()
    none.count_hit(0, 0, 1.0)
    none.count_validation(0, 0, 1.0, changed=True)
    assert math.isnan(none.set_price(0, 0, 1.0, 1.0))
