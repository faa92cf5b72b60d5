"""The update history of one object, as a policy sees it.

Units: times are Unix seconds (UTC, float64); counts are numbers of updates.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

HOUR_S = 3600.0
DAY_S = 86400.0
BINS = 24

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Updates u_1 < u_2 < ... of one object, observed since t_0 (`since_s`).

    `times_s` may reach beyond the moment t of a decision; every method looks only at updates <= t.
    Two updates at the same instant are one; the order in which they are given does not matter.
    """

    times_s: FloatArray
    """(n,) ascending, distinct: the updates known one by one."""
    since_s: float
    """t_0: from when on no update can have been missed."""
    last_modified_s: float | None = None
    """An update known to lie before t_0 (a Last-Modified). It is u_n while nothing later is known, and is never counted."""
    folded: tuple[tuple[int, int], ...] = field(default=())
    """Updates older than those of `times_s`: (hours since the epoch, count), ascending."""

    @classmethod
    def of(cls, times_s: Iterable[float], since_s: float, last_modified_s: float | None = None,
           folded: Iterable[tuple[int, int]] = ()) -> Self:
        """From updates in any order, with or without repetitions; those before `since_s` are left out."""
        times = np.unique(np.asarray(list(times_s) if not isinstance(times_s, np.ndarray) else times_s, dtype=np.float64))
        return cls(times[times >= since_s], float(since_s), last_modified_s, tuple(sorted(folded)))
