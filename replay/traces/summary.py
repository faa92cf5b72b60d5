"""The summary of a trace in one line."""

import numpy as np

from bestbefore.addon.admin.units import counted
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.traces.columns.columns import IdArray, Updates
from bestbefore.replay.traces.inference.accesses import Accesses

UNITS_S = (("d", DAY_S), ("h", HOUR_S), ("min", 60.0), ("s", 1.0))


def summary(trace: Updates | Accesses) -> str:
    """Return the numbers of rows, objects and clients, the span of time, and the disorder of a non-empty trace."""
    late = ""
    if isinstance(trace, Updates):
        rows, times_s = counted(len(trace), "update"), trace.times_s
        who = f"of {counted(_distinct(trace.object_ids), 'object')}"
    else:
        rows, times_s = counted(len(trace), "request"), trace.requests.times_s
        clients, objects = _distinct(trace.requests.client_ids), _distinct(trace.requests.object_ids)
        who = f"by {counted(clients, 'client')} for {counted(objects, 'object')}"
        if trace.late_s:
            late = f", sorted by time (some stood up to {_duration(trace.late_s)} late)"
    return f"{rows} {who} in {_duration(float(times_s[-1] - times_s[0]))}{late}"


def _distinct(ids: IdArray) -> int:
    return len(np.unique(ids))


def _duration(seconds: float) -> str:
    unit, length_s = next(((u, s) for u, s in UNITS_S if seconds >= s), UNITS_S[-1])
    return f"{seconds / length_s:.1f} {unit}"
