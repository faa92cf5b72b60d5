import numpy as np

from bestbefore.policies.models.demand import first_request, requested
from bestbefore.replay.kernels.arrays.earlier_demand import earlier_demand
from bestbefore.replay.kernels.arrays.memories import demand_in
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests

CLIENTS, OBJECTS = ("x", "y"), ("a", "b")
EARLIER = Requests.of(
    np.array([10.0, 20.0, 30.0, 40.0]),
    np.array([0, 1, 0, 1], dtype=np.int32),
    np.array([0, 0, 0, 1], dtype=np.int32),
    CLIENTS,
    OBJECTS,
)


def test_one_cache_has_the_requests_of_all_clients() -> None:
    rows = earlier_demand(EARLIER, Cache.SHARED, np.array([0]))
    assert demand_in(rows, 0) == requested(requested(first_request(10.0), 20.0), 30.0)


def test_each_client_has_its_own_requests_and_those_for_other_copies_are_left_out() -> None:
    # codes: object * 2 + client; the stream of b and x has had no request
    rows = earlier_demand(EARLIER, Cache.CLIENT, np.array([0, 2]))
    assert demand_in(rows, 0) == requested(first_request(10.0), 30.0)
    assert demand_in(rows, 1).day_requests == 0.0


def test_without_earlier_requests_there_is_no_demand() -> None:
    assert not earlier_demand(None, Cache.SHARED, np.array([0, 1])).any()
    assert not earlier_demand(EARLIER, Cache.SHARED, np.array([], dtype=np.int64)).any()
