"""The columns keep what is put, and grow."""

import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.online.estimate import FLAT, SHORTEST_S, Columns, Estimates, ScheduleEstimate


def test_an_estimate_is_written_into_its_row():
    columns = Columns()
    columns.reserve(3)
    some = [ScheduleEstimate(0.25, 1e9, 3.0, bytes(range(24)), 0.4, 60.0, 7200.0), ScheduleEstimate(1.0, 5.0)]
    columns.set(np.array([2, 0]), Estimates.of(some))
    assert columns.live.tolist()[:3] == [True, False, True]
    assert (columns.rates[2], columns.contact_s[2], columns.weights[2]) == (0.25, 1e9, 3.0)
    assert columns.hours[2].tobytes() == bytes(range(24))
    assert columns.hours[0].tobytes() == FLAT
    assert columns.weekends[2] / 255 == pytest.approx(0.4, abs=0.002)
    assert (columns.shortest_s[2], columns.longest_s[2]) == (60.0, 7200.0)
    assert (columns.shortest_s[0], columns.longest_s[0]) == (SHORTEST_S, math.inf)


def test_growth_keeps_what_is_there_and_an_object_takes_less_than_a_hundred_bytes():
    columns = Columns()
    for slot in range(50):
        columns.reserve(slot + 1)
        columns.set(np.array([slot]), Estimates.of([ScheduleEstimate(float(slot), 0.0)]))
    assert columns.rates[:50].tolist() == list(range(50))
    assert len(columns) < 80
    row = sum(getattr(columns, name).nbytes for name in Columns.NAMES) / len(columns)
    assert row + 16 < 100  # with its place in the queue
    assert np.count_nonzero(columns.live) == 50


def test_while_columns_grow_none_is_shorter_than_what_a_reader_counts():
    class Watched(Columns):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if hasattr(self, "clockworks"):
                assert all(len(getattr(self, column)) >= len(self) for column in self.NAMES)

    columns = Watched()
    for n in (1, 10, 100):
        columns.reserve(n)
    assert len(columns) >= 100
