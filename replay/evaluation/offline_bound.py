"""The offline bound: the fewest validations with which any policy, knowing all updates, has a number of stale hits.

The requests of a stream (an object in a cache) between two successive updates form a run. Without a validation in it,
all requests of a run except the first of the stream are stale, whenever the copy was last validated; one validation at
its first request makes all of them fresh, and no other validation is worth more. So runs are independent, and at a
given number of stale hits the longest ones are validated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.kernels.arrays.stream_ids import stream_ids
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates


@dataclass(frozen=True, slots=True)
class OfflineBound:
    """The fewest validations of a scenario at each number of stale hits."""

    cached: int
    """The number of requests that find a copy, the same under any policy."""
    lengths: NDArray[np.int64]
    """(u,) the numbers of requests that runs have, ascending; runs before the first update after the first request of a
    stream are not among them."""
    runs: NDArray[np.int64]
    """(u,) how many runs are as long."""

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Return the bound for the requests of a scenario."""
        streams, _ = stream_ids(scenario.requests, scenario.cache)
        order = np.argsort(streams, kind="stable")
        streams, versions = streams[order], _versions(scenario.updates, scenario.requests)[order]
        is_first = np.diff(streams, prepend=-1) != 0
        begins = np.flatnonzero(is_first | (np.diff(versions, prepend=-1) != 0))
        lengths = np.diff(begins, append=len(streams))[~is_first[begins]]
        return cls(int(np.count_nonzero(~is_first)), *np.unique(lengths, return_counts=True))

    @classmethod
    def total(cls, parts: Sequence[Self]) -> Self:
        """Return the bound for the requests of several scenarios, each with other streams."""
        lengths, of_run = np.unique(np.concatenate([one.lengths for one in parts]), return_inverse=True)
        runs = np.zeros(len(lengths), dtype=np.int64)
        np.add.at(runs, of_run, np.concatenate([one.runs for one in parts]))
        return cls(sum(one.cached for one in parts), lengths, runs)

    def validations(self, stale_hits: float) -> int:
        """Return the fewest validations with at most this number of stale hits."""
        stale = np.cumsum(self.lengths * self.runs)  # without validations in the runs up to each length
        whole = int(stale.searchsorted(stale_hits, side="right"))
        skipped = int(self.runs[:whole].sum())
        if whole < len(stale):
            left = int(stale_hits) - (int(stale[whole - 1]) if whole else 0)
            skipped += left // int(self.lengths[whole])
        return int(self.runs.sum()) - skipped


def _versions(updates: Updates, requests: Requests) -> NDArray[np.int64]:
    """(requests,) the number of updates of the object up to each request."""
    versions = np.zeros(len(requests), dtype=np.int64)
    order = np.argsort(requests.object_ids, kind="stable")
    ends = np.cumsum(np.bincount(requests.object_ids, minlength=len(requests.objects)))
    times_s = updates.times_by_object()
    for name, rows in zip(requests.objects, np.split(order, ends[:-1]), strict=True):
        if name in times_s:
            versions[rows] = times_s[name].searchsorted(requests.times_s[rows], side="right")
    return versions
