"""A trace to evaluate: requests and updates, with the conditions that do not depend on caches and histories."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates


class Known(StrEnum):
    """What policies know."""

    COMPLETE = "complete"
    """All updates so far."""
    OBSERVED = "observed"
    """What contacts show, those of requests before the test start included."""
    CHANGED = "changed"
    """The same without the times of updates."""
    FIRST_DAY = "first-day"
    """What contacts show from the first request on; only requests within 24 hours of it are replayed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A trace, its name, and the family with whose other traces it is averaged."""

    family: str
    name: str
    updates: Updates
    requests: Requests
    origin_s: float
    test_start_s: float
    grouping: Grouping = Grouping.ALL
    first_s: float | None = None
    """The time of the first request, where these are requests of a part; None: that of these requests."""

    def scenario(self, cache: Cache, known: Known) -> Scenario:
        """Make the scenario of the requests after the test start, or of the first day."""
        requests, origin_s, test_start_s, warm = self.requests, self.origin_s, self.test_start_s, Warm.CONTACTS
        if known is Known.FIRST_DAY:
            origin_s = test_start_s = float(requests.times_s[0]) if self.first_s is None else self.first_s
            requests, warm = requests.before(origin_s + DAY_S), Warm.NONE
        return Scenario.of(
            self.updates,
            requests,
            origin_s=origin_s,
            test_start_s=test_start_s,
            cache=cache,
            grouping=self.grouping,
            warm=None if known is Known.COMPLETE else warm,
            tells_times=known is not Known.CHANGED,
            warn=lambda _: None,
        )

    def with_updates(self, name: str, times_s: Mapping[str, FloatArray]) -> "Case":
        """Return the case with other updates, by object."""
        objects = tuple(sorted(times_s))
        ids = np.repeat(np.arange(len(objects), dtype=np.int32), [len(times_s[object_]) for object_ in objects])
        every_s = np.concatenate([np.empty(0), *(times_s[object_] for object_ in objects)])
        return replace(self, name=name, updates=Updates.of(every_s, ids, objects))
