import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.gains import PoissonGains
from bestbefore.policies.prefetch.discrete.owned_visits import owners_above, visit_by, visits_within
from bestbefore.policies.prefetch.discrete.waiting_gains import WaitingGains

numbers = st.floats(0.01, 20.0)
objects = st.tuples(numbers, numbers, st.integers(0, 3), st.integers(0, 1), st.integers(1, 9))


def one_by_one(
    gains: PoissonGains | WaitingGains, budget: int, least: IntArray, most: IntArray, owners: IntArray, of_owner: int
) -> IntArray:
    """The greedy algorithm: a visit at a time, where it gains most and its owner may have one more."""
    visits = least.copy()
    of_each = np.bincount(owners, weights=least)
    every = np.arange(len(least))
    queue = [(-gain, i) for i, gain in enumerate(gains.of(every, visits).tolist()) if visits[i] < most[i]]
    heapq.heapify(queue)
    left = budget - int(least.sum())
    while left and queue:
        gain, i = heapq.heappop(queue)
        if of_each[owners[i]] >= of_owner or not gain:
            continue
        visits[i], of_each[owners[i]], left = visits[i] + 1, of_each[owners[i]] + 1, left - 1
        if visits[i] < most[i]:
            heapq.heappush(queue, (-float(gains.of(every[i:i + 1], visits[i:i + 1])[0]), i))
    return visits


@given(drawn=st.lists(objects, min_size=1, max_size=12), extra=st.integers(0, 40), of_owner=st.integers(3, 9))
@pytest.mark.parametrize("objective", ["freshness", "age"])
def test_nothing_is_better_than_one_visit_at_a_time(
    objective: str, drawn: list[tuple[float, float, int, int, int]], extra: int, of_owner: int
) -> None:
    rates, weights, *whole = (np.array(column) for column in zip(*drawn, strict=True))
    owners, least, most = (column.astype(np.int64) for column in whole)
    gains = (PoissonGains if objective == "freshness" else WaitingGains.of_age)(rates, weights, "interval")
    budget = int(least.sum()) + extra
    if not budget:
        return
    if np.bincount(owners, weights=least).max() > of_owner:
        with pytest.raises(ValueError, match=f"but it may have {of_owner} at most"):
            visits_within(visit_by(gains), budget, least, most, owners, of_owner)
        return
    visits = visits_within(visit_by(gains), budget, least, most, owners, of_owner)
    best = one_by_one(gains, budget, least, most, owners, of_owner)
    assert not owners_above(visits, owners, of_owner).size
    assert ((least <= visits) & (visits <= most)).all()
    assert visits.sum() == best.sum()

    def gained(made: IntArray) -> float:
        return sum(float(gains.of(np.array([i]), np.array([x]))[0]) for i, n in enumerate(made) for x in range(n))

    assert gained(visits) == pytest.approx(gained(best), rel=1e-9)


def test_what_one_owner_may_not_have_brings_others_to_their_most() -> None:
    """Without the limit they would have 8, 3 and 1 visits; the second comes to its most by what the first leaves."""
    rates, weights = np.array([1.0, 1.0, 1.0]), np.array([40.0, 8.0, 2.0])
    gains, owners = PoissonGains(rates, weights, "periodic"), np.array([0, 1, 2])
    least, most = np.zeros(3, np.int64), np.full(3, 100)
    visits = visits_within(visit_by(gains), 12, least, most, owners, 4)
    assert visits.tolist() == [4, 4, 4]
    assert visits_within(visit_by(gains), 20, least, most, owners, 4).tolist() == [4, 4, 4]
