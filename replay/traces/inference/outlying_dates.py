"""The detection of requests with outlying dates, as of clocks that were not set or jumped."""

from collections.abc import Iterator

import numpy as np

from bestbefore.addon.admin.units import counted
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.traces.inference.accesses import Accesses

FAR_S = 366 * DAY_S
FEW = 20
"""At most one in this many requests, at either end, counts as outlying."""


def outlying_dates(accesses: Accesses) -> Iterator[str]:
    """Yield warnings about requests more than a year before or after the others. They are not removed."""
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
    """Return the number of times before the last gap of more than a year."""
    gaps = np.flatnonzero(np.diff(times_s) > FAR_S)
    return int(gaps[-1]) + 1 if len(gaps) else 0
