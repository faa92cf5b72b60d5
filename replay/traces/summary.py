"""What a trace holds, in a line for people."""

import numpy as np

from bestbefore.replay.traces.accesses import Accesses
from bestbefore.replay.traces.columns import Updates

UNITS_S = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def summary(trace: Updates | Accesses) -> str:
    """Rows, objects, clients, and the span of time; of a trace that is not empty."""
    if isinstance(trace, Updates):
        rows, times_s = f"{len(trace):,} updates", trace.times_s
        who = f"of {_count(trace.object_ids):,} objects"
    else:
        rows, times_s = f"{len(trace):,} requests", trace.requests.times_s
        who = f"by {_count(trace.requests.client_ids):,} clients for {_count(trace.requests.object_ids):,} objects"
    return f"{rows} {who} in {_duration(float(times_s[-1] - times_s[0]))}"


def _count(ids: np.ndarray[tuple[int], np.dtype[np.int32]]) -> int:
    return len(np.unique(ids))


def _duration(seconds: float) -> str:
    unit, length_s = next(((u, s) for u, s in UNITS_S if seconds >= s), UNITS_S[-1])
    return f"{seconds / length_s:.1f} {unit}"
