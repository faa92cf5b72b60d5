import numpy as np

from bestbefore.policies.units import HOUR_S
from bestbefore.replay.kernels.arrays.tallies import Tallies, Window, count_in, insert, keep_after, set_counts

# Of owner 0 at 10 (bin 3), 20 (bin 3, twice) and 30 (bin 7); of owner 1 at 25 (bin 3).
TALLIES = Tallies(
    np.array([10.0, 20.0, 30.0, 25.0]), np.array([3, 3, 7, 3], dtype=np.uint8), np.array([1, 2, 1, 1], dtype=np.int32),
    np.array([0, 3, 4]), np.array([3, 4]),
)


def counts(window: Window, owner: int) -> dict[int, int]:
    found = np.empty(24, dtype=np.int64)
    set_counts(found, window, owner)
    return {k: int(n) for k, n in enumerate(found) if n}


def test_all_counts_at_first() -> None:
    window = Window.of(TALLIES)
    assert (counts(window, 0), counts(window, 1)) == ({3: 3, 7: 1}, {3: 1})
    assert window.totals.tolist() == [4, 1]


def test_what_is_not_after_the_moment_is_taken_out_once() -> None:
    window = Window.of(TALLIES)
    keep_after(window, TALLIES, 0, 9.0)
    assert window.totals[0] == 4
    for _ in range(2):
        keep_after(window, TALLIES, 0, 20.0)
        assert (counts(window, 0), window.totals[0]) == ({7: 1}, 1)
    keep_after(window, TALLIES, 0, 99.0)
    assert (counts(window, 0), window.totals.tolist()) == ({}, [0, 1])


def test_what_happened_before_the_window_is_not_counted_when_it_becomes_known() -> None:
    tallies, window = TALLIES.copy(), Window.of(TALLIES)
    keep_after(window, tallies, 0, 10.0)
    for place in (0, 1):
        count_in(window, tallies, 0, place)
    assert (counts(window, 0), window.totals[0]) == ({3: 3, 7: 1}, 4)
    keep_after(window, tallies, 0, 20.0)
    assert counts(window, 0) == {7: 1}
    assert TALLIES.amounts.tolist() == [1, 2, 1, 1]


def test_an_event_may_become_known_after_later_ones() -> None:
    tallies = Tallies.empty(np.array([0, 4, 5]))
    window = Window.of(tallies)
    for place, time_s in ((0, 2 * HOUR_S), (0, HOUR_S), (2, 30 * HOUR_S)):
        insert(window, tallies, 0, place, time_s)
        count_in(window, tallies, 0, place)
    assert tallies.times_s.tolist() == [HOUR_S, 2 * HOUR_S, 30 * HOUR_S, 0.0, 0.0]
    assert (counts(window, 0), tallies.ends.tolist()) == ({1: 1, 2: 1, 6: 1}, [3, 4])
    keep_after(window, tallies, 0, HOUR_S)
    insert(window, tallies, 0, 0, 0.0)
    count_in(window, tallies, 0, 0)
    assert (counts(window, 0), window.totals[0], tallies.amounts.tolist()) == ({2: 1, 6: 1}, 2, [1, 1, 1, 1, 0])
