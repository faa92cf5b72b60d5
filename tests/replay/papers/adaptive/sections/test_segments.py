import numpy as np
import pytest

from bestbefore.replay.papers.adaptive.paired import ORIGIN_S
from bestbefore.replay.papers.adaptive.sections.segments import PRINTED, bulk_events, segments_of

HOUR = 3600.0
DAY = 86400.0


def test_the_segments_have_their_hours_and_updates_per_hour() -> None:
    # Eight days with ten updates in each of the hours from 8 to 10, one in each other.
    times = [
        ORIGIN_S + day * DAY + hour * HOUR + second
        for day in range(8)
        for hour in range(24)
        for second in (range(10) if hour in (8, 9) else range(1))
    ]
    found = segments_of(np.array(times, dtype=float), 8, 1.0)
    assert [(a, b) for a, b, _ in found] == [(0.0, 8.0), (8.0, 10.0), (10.0, 24.0)]
    assert [rate for *_, rate in found] == pytest.approx([1.0, 10.0, 1.0])


def test_an_update_at_the_origin_counts() -> None:
    assert sum((b - a) * rate for a, b, rate in segments_of(np.array([ORIGIN_S, ORIGIN_S + 5.0]), 1, 1.0)) == 2.0


def test_updates_within_30_seconds_are_one_event() -> None:
    assert bulk_events(np.array([100.0, 130.0, 160.0, 190.5, 500.0])) == 3
    assert bulk_events(np.empty(0)) == 0


def test_the_printed_intervals_are_a_day_of_the_printed_updates() -> None:
    assert [begin for begin, _, _ in PRINTED[1:]] == [until for _, until, _ in PRINTED[:-1]]
    assert (PRINTED[0][0], PRINTED[-1][1]) == (0, 24)
    assert len({rate for *_, rate in PRINTED}) == 7
    assert sum(8 * (until - begin) * rate for begin, until, rate in PRINTED) == pytest.approx(10074, rel=0.02)
