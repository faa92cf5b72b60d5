"""Requests dated far from all others: clocks that were not set yet, or jumped."""

from collections.abc import Iterator

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.traces.inference.accesses import Accesses
from bestbefore.replay.traces.summary import counted

FAR_S = 366 * DAY_S
FEW = 20
"""One in so many requests may lie apart, at either end; more are a part of the log."""


def dated_apart(accesses: Accesses) -> Iterator[str]:
    """Lines for the user on requests that lie more than a year before or after the others. They are kept."""
    times_s = accesses.requests.times_s
    few = len(times_s) // FEW
    before = _apart(times_s[: few + 1])
    after = _apart(-times_s[: -few - 2 : -1])
    if before:
        yield (
            f"{counted(before, 'request')} dated over a year before the others, which begin at {times_s[before]:.0f}: "
            f"if a clock was wrong, --origin of replay leaves out what is earlier"
        )
    if after:
        yield (
            f"{counted(after, 'request')} dated over a year after the others, which end at {times_s[-after - 1]:.0f}: "
            f"if a clock was wrong, take them out of the log"
        )


def _apart(times_s: FloatArray) -> int:
    """Return how many there are, in order of time, before the last gap of over a year."""
    gaps = np.flatnonzero(np.diff(times_s) > FAR_S)
    return int(gaps[-1]) + 1 if len(gaps) else 0
