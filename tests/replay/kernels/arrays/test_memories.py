import numpy as np

from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.replay.kernels.arrays.memories import (
    demand_in,
    memory_in,
    no_demand,
    no_memories,
    remember,
    set_demand,
    set_memory,
)
from bestbefore.replay.kernels.arrays.packed import Packed


def test_a_row_holds_a_memory_or_a_demand() -> None:
    memory = updated_at(memory_since(10.0), 700.0, 300.0)
    demand = requested(first_request(10.0), 300.0)
    memories, demands = no_memories(2), no_demand(2)
    set_memory(memories, 1, memory)
    set_demand(demands, 1, demand)
    assert memory_in(memories, 1) == memory
    assert demand_in(demands, 1) == demand
    assert demand_in(demands, 0).day_requests == 0.0


def test_each_owner_has_the_memory_at_the_start_and_after_each_update() -> None:
    packed = Packed.of(np.array([50.0, 70.0, 90.0]), np.array([2, 0, 2], dtype=np.int32), 3)
    rows = no_memories(6)
    remember(rows, packed.times_s, packed.firsts, 5.0)
    new = memory_since(5.0)
    after_50 = updated_at(new, 50.0, 50.0)
    expected = [new, updated_at(new, 70.0, 70.0), new, new, after_50, updated_at(after_50, 90.0, 90.0)]
    assert [memory_in(rows, place) for place in range(6)] == expected
