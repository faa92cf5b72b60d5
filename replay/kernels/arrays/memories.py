"""The memories of updates and the demand of copies as rows of an array, read and written by compiled code.

A named tuple of numbers is a row: its fields are the columns.
"""

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.demand import CopyDemand, first_request, requested
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at
from bestbefore.policies.units import FloatArray


def no_memories(n: int) -> FloatArray:
    """Return (n, fields) zeros."""
    return np.zeros((n, len(UpdateMemory._fields)))


def no_demand(n: int) -> FloatArray:
    """Return (n, fields) zeros."""
    return np.zeros((n, len(CopyDemand._fields)))


def remember(rows: FloatArray, times_s: FloatArray, firsts: NDArray[np.int64], since_s: float) -> None:
    """Write the memory of each owner at t_0 = `since_s` and after each update; the other columns are those of `Packed`.

    That after the updates before the i-th is in row i + owner; so there are (updates + owners) rows.
    """
    for owner in range(len(firsts) - 1):
        memory = memory_since(since_s)
        set_memory(rows, firsts[owner] + owner, memory)
        for update in range(firsts[owner], firsts[owner + 1]):
            memory = updated_at(memory, times_s[update], times_s[update])
            set_memory(rows, update + owner + 1, memory)


def memory_in(rows: FloatArray, place: int) -> UpdateMemory:
    """Return the memory in a row."""
    row = rows[place]
    return UpdateMemory(
        row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11], row[12]
    )


def set_memory(rows: FloatArray, place: int, memory: UpdateMemory) -> None:
    """Write a memory into a row."""
    for i in range(len(memory)):
        rows[place, i] = memory[i]


def demand_in(rows: FloatArray, place: int) -> CopyDemand:
    """Return the demand in a row."""
    row = rows[place]
    return CopyDemand(row[0], row[1], row[2], row[3])


def set_demand(rows: FloatArray, place: int, demand: CopyDemand) -> None:
    """Write a demand into a row."""
    for i in range(len(demand)):
        rows[place, i] = demand[i]


def demand_with(rows: FloatArray, place: int, t: float) -> CopyDemand:
    """Return the demand in a row with a further request, at t; a row without requests is zero."""
    before = demand_in(rows, place)
    return requested(before, t) if before.day_requests > 0.0 else first_request(t)


def count_request(rows: FloatArray, place: int, t: float) -> CopyDemand:
    """Count a request at t in a row, and return the demand."""
    demand = demand_with(rows, place, t)
    set_demand(rows, place, demand)
    return demand


def count_requests(rows: FloatArray, places: NDArray[np.int64], times_s: FloatArray) -> None:
    """Count requests, in order of time, each in its row."""
    for i in range(len(times_s)):
        count_request(rows, places[i], times_s[i])
