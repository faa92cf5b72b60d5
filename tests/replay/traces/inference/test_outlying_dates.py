import numpy as np

from bestbefore.replay.traces.inference.accesses import Accesses, AccessRows
from bestbefore.replay.traces.inference.outlying_dates import outlying_dates

YEAR_S = 366 * 86400.0


def requests(*times_s: float) -> Accesses:
    rows = AccessRows()
    for time_s in times_s:
        rows.append(time_s, "x", "/")
    return rows.accesses()


def test_few_requests_dated_over_a_year_from_the_others_are_reported() -> None:
    log = [1.5e9 + t for t in range(100)]
    assert list(outlying_dates(requests(0.0, 3 * YEAR_S, *log, 2e9))) == [
        "2 requests dated over a year before the others, which begin at 1500000000: if a clock was wrong, --origin of "
        "replay leaves out what is earlier",
        "1 request dated over a year after the others, which end at 1500000099: if a clock was wrong, take them out of "
        "the log",
    ]


def test_many_or_near_ones_are_a_part_of_the_log() -> None:
    log = [1.5e9 + t for t in range(100)]
    assert not list(outlying_dates(requests(*np.arange(6.0), *log)))
    assert not list(outlying_dates(requests(1.5e9 - YEAR_S, *log, 1.5e9 + 99 + YEAR_S)))
    assert not list(outlying_dates(requests(0.0, 2e9)))
    assert not list(outlying_dates(requests()))
