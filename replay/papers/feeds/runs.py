"""The strategies by name, and their measurement for a set of feeds at a number of retrievals."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.feeds import online
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.polling import Measured, Schedules
from bestbefore.replay.papers.feeds.strategies import both, both_with_gaps, divided, papers_points, timed, uniform
from bestbefore.replay.papers.work import Work

BUDGETS = (1, 2, 4, 8)
"""The mean numbers of retrievals of a feed per day."""

UNIFORM, TIMING, ALLOCATION, BOTH = "uniform", "timing only", "allocation only", "both"
GAPS = "both, gaps of whole days"
PLANNED, ONLINE = "ours, planned", "ours, online"
PAPERS = (UNIFORM, TIMING, ALLOCATION, BOTH)

STRATEGIES: Mapping[str, Callable[[LearntRates, int], Schedules]] = {
    UNIFORM: lambda learnt, per_day: uniform(len(learnt.spans), per_day),
    TIMING: lambda learnt, per_day: timed(learnt.nearest, per_day, papers_points),
    ALLOCATION: lambda learnt, per_day: divided(learnt.rates, None, per_day),
    BOTH: lambda learnt, per_day: both(learnt.rates, learnt.nearest, None, per_day, papers_points),
    GAPS: lambda learnt, per_day: both_with_gaps(learnt.rates, learnt.nearest, None, per_day, papers_points),
    "both, exact points": lambda learnt, per_day: both(learnt.rates, learnt.nearest, None, per_day),
    "and patterns drawn to clusters": lambda learnt, per_day: both(learnt.rates, learnt.drawn, None, per_day),
    PLANNED: lambda learnt, per_day: both(learnt.rates_to_come, learnt.drawn, None, per_day),
    ONLINE: online.by_schedule,
}

ESTIMATORS: Mapping[str, Callable[[FloatArray], online.RateAt]] = {
    "the memory of `renewal`": online.remembered,
    "postings of the last 7 days": partial(online.counted, days=7.0),
    "postings of the last 14 days": partial(online.counted, days=14.0),
    "all postings": online.counted,
}
"""The rates with which `ONLINE` is tried; the first is its own."""

Key = tuple[str, str, int]
"""(set of feeds, strategy or one of `ESTIMATORS`, retrievals a day)."""


def measure(sets: Mapping[str, LearntRates], key: Key) -> Measured:
    """Return the result of a strategy."""
    name, strategy, per_day = key
    if strategy in ESTIMATORS:
        return sets[name].spans.measured(online.by_schedule(sets[name], per_day, ESTIMATORS[strategy]))
    return sets[name].spans.measured(STRATEGIES[strategy](sets[name], per_day))


def measured(work: Work, sets: Mapping[str, LearntRates], keys: Sequence[Key]) -> dict[Key, Measured]:
    """Return the result of each strategy, the most expensive first."""
    ordered = sorted(set(keys), key=lambda key: (-key[2] * len(sets[key[0]].spans), key))
    return dict(zip(ordered, work.each(partial(measure, sets), ordered, "strategies"), strict=True))
