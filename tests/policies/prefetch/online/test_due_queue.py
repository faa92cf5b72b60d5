"""The queue against a sorted list, through random changes."""

import sys

import numpy as np

from bestbefore.policies.prefetch.online.due_queue import DueQueue


def test_the_earliest_is_first_through_puts_moves_and_removals():
    random = np.random.default_rng(3)
    queue, plain = DueQueue(), {}
    for _ in range(3000):
        slot, due_s = int(random.integers(0, 60)), float(random.integers(0, 1000))
        if random.random() < 0.3:
            queue.remove(slot)
            plain.pop(slot, None)
        else:
            queue.put(slot, due_s)
            plain[slot] = due_s
        assert len(queue) == len(plain)
        assert (slot in queue) == (slot in plain)
        first = queue.first()
        if first is None:
            assert not plain
        else:
            assert first[0] == min(plain.values())
            assert plain[first[1]] == first[0]
    assert sorted(queue.slots().tolist()) == sorted(plain)


def test_filling_replaces_what_was_queued():
    queue = DueQueue()
    queue.put(9, 1.0)
    queue.fill(np.array([4, 2, 0]), np.array([3.0, 1.0, 2.0]))
    assert 9 not in queue
    assert sorted(queue.earliest(2).tolist()) == [0, 2]
    order = []
    while (first := queue.first()) is not None:
        order.append(first)
        queue.remove(first[1])
    assert order == [(1.0, 2), (2.0, 0), (3.0, 4)]
    queue.fill(np.array([], dtype=np.intp), np.array([]))
    assert queue.first() is None
    queue.put(1, 5.0)
    assert queue.first() == (5.0, 1)


def test_a_queue_grows_while_a_profiler_keeps_its_frames():
    """As the one in each worker of Dask does."""
    kept = []
    queue = DueQueue()
    sys.setprofile(lambda frame, _event, _argument: kept.append(frame))
    try:
        queue.put_all(np.arange(5), np.full(5, np.inf))
        queue.put_all(np.arange(3), np.zeros(3))
        queue.put(9, 1.0)
    finally:
        sys.setprofile(None)
    assert (len(queue), bool(kept)) == (6, True)
