"""The split of a trace in time: policies are chosen on the first part and tested on the second."""

from dataclasses import dataclass, replace
from typing import Self

from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.traces.columns.columns import Requests

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
    def of(cls, scenario: Scenario, requests: Requests) -> Self:
        """Split a scenario, made of these requests.

        Raises ValueError if one of the parts has no requests.
        """
        replayed = scenario.requests
        if not len(replayed):
            raise ValueError("no request to replay")
        return cls.within(scenario, requests, float(replayed.times_s[0]), float(replayed.times_s[-1]))

    @classmethod
    def within(cls, scenario: Scenario, requests: Requests, start_s: float, end_s: float) -> Self:
        """Split a scenario of some objects of a trace, whose first and last requests to replay come at these times.

        Raises ValueError if one of the parts has no time.
        """
        replayed = scenario.requests
        split_s = cls.split_of(start_s, end_s)
        if not start_s < split_s <= end_s:
            raise ValueError("all requests came at the same time: expected a trace in which time passes")
        warmup = scenario.warmup
        if warmup is not None:
            before = requests.since(scenario.origin_s).before(split_s)
            warmup = replace(warmup, requests=before, test_start_s=split_s)
        first = replace(scenario, requests=replayed.before(split_s))
        then = replace(scenario, requests=replayed.since(split_s), warmup=warmup)
        return cls(first, then, start_s, split_s, end_s)

    @staticmethod
    def split_of(start_s: float, end_s: float) -> float:
        """Return the beginning of the second part."""
        return start_s + FIRST_PART * (end_s - start_s)
