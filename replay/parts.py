"""The split of a trace in time: policies are chosen on the first part and tested on the second."""

from collections.abc import Callable
from dataclasses import dataclass

from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

FIRST_PART = 2 / 3
"""The length of the first part, as a share of the time between the first and the last request."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The scenarios of two parts of one trace. Each begins with empty caches; histories continue in the second."""

    first: Scenario
    then: Scenario
    """The scenario of the second part."""
    start_s: float
    """The time of the first request."""
    split_s: float
    """The beginning of the second part."""
    end_s: float
    """The time of the last request."""

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
        """Make the parts; the arguments are those of `Scenario.of`.

        Raises ValueError as `Scenario.of` does, and if one of the parts has no requests.
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
