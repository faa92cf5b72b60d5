"""A trace in two parts of time: one to choose policies on, and one to see what the choice is worth."""

from collections.abc import Callable
from dataclasses import dataclass

from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

FIRST_PART = 2 / 3
"""The share of the time that the first part has."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Two replays of one trace. The caches are empty at the beginning of each; histories continue from the first."""

    first: Scenario
    then: Scenario
    start_s: float
    """When the first request came."""
    split_s: float
    """When the second part begins."""
    end_s: float
    """When the last request came."""

    @classmethod
    def of(
        cls,
        updates: Updates,
        requests: Requests,
        *,
        origin_s: float | None,
        test_start_s: float | None,
        cache: Cache,
        grouping: Grouping,
        warm: Warm | None,
        warn: Callable[[str], None],
    ) -> "Parts":
        """Make the parts as `Scenario.of` does. The time is that from the first request to the last.

        Raises ValueError as that does, and if there are no requests in one of the parts.
        """
        replayed = requests if test_start_s is None else requests.since(test_start_s)
        if not len(replayed):
            raise ValueError("no request to replay")
        start_s, end_s = float(replayed.times_s[0]), float(replayed.times_s[-1])
        split_s = start_s + FIRST_PART * (end_s - start_s)
        if not start_s < split_s <= end_s:
            raise ValueError("all requests came at the same time: expected a trace in which time passes")

        def scenario(requests: Requests, test_start_s: float | None, warn: Callable[[str], None]) -> Scenario:
            return Scenario.of(
                updates,
                requests,
                origin_s=origin_s,
                test_start_s=test_start_s,
                cache=cache,
                grouping=grouping,
                warm=warm,
                warn=warn,
            )

        first = scenario(requests.before(split_s), test_start_s, warn)
        return cls(first, scenario(requests, split_s, lambda _: None), start_s, split_s, end_s)
