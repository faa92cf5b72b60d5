"""The simulations of the page: all runs of all sections, each once, on several instances."""

from collections.abc import Iterable, Sequence

from bestbefore.replay.multicast.channel import Served
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.runs import ChannelRun, served
from bestbefore.replay.multicast.seed_mean import SeedMean
from bestbefore.replay.papers.multicast.measures import ChannelMeasure
from bestbefore.replay.papers.work import Work

Case = tuple[str, Parameters]
"""The name of a scheduler, and the parameters of a simulation."""

SMALL_REQUESTS, SMALL_INSTANCES = 2_700, 4
"""Instances where all clients together request at most so many sites."""
THOUSAND, THOUSAND_INSTANCES = Parameters(subscribers=1000), 3
"""The one larger simulation with several instances, for which the paper prints most values."""


def seeds_of(parameters: Parameters) -> range:
    """The seeds of the instances with these parameters."""
    if parameters == THOUSAND:
        return range(1, 1 + THOUSAND_INSTANCES)
    return range(1, 1 + (SMALL_INSTANCES if _requests(parameters) <= SMALL_REQUESTS else 1))


class Simulations:
    """What each scheduler achieves with each parameters, over the seeds."""

    def __init__(self, work: Work, cases: Iterable[Case]) -> None:
        """Run all cases, each once."""
        unique = dict.fromkeys(cases)
        runs = [ChannelRun(name, parameters, seed) for name, parameters in unique for seed in seeds_of(parameters)]
        runs.sort(key=lambda run: (run.seed, -_requests(run.parameters)))  # no long one alone at the end
        self._served = dict(zip(runs, work.each(served, runs, "multicast"), strict=True))

    def served(self, scheduler: str, parameters: Parameters) -> list[Served]:
        """The results by seed."""
        return [self._served[ChannelRun(scheduler, parameters, seed)] for seed in seeds_of(parameters)]

    def values(self, scheduler: str, parameters: Parameters, measure: ChannelMeasure) -> list[float]:
        """The values of a measure by seed."""
        return [measure.of(one) for one in self.served(scheduler, parameters)]

    def mean(self, scheduler: str, parameters: Parameters, measure: ChannelMeasure) -> SeedMean:
        """The mean over the seeds, with its interval."""
        return SeedMean.of(self.values(scheduler, parameters, measure))

    def difference(self, first: str, second: str, parameters: Parameters, measure: ChannelMeasure) -> SeedMean:
        """The mean of the differences, first less second, on the same instances."""
        pairs = zip(self.values(first, parameters, measure), self.values(second, parameters, measure), strict=True)
        return SeedMean.of([one - other for one, other in pairs])

    def best(self, schedulers: Sequence[str], parameters: Parameters, measure: ChannelMeasure) -> str:
        """The scheduler with the best mean."""
        by_mean = {name: self.mean(name, parameters, measure).mean for name in schedulers}
        return (min if measure.is_time else max)(by_mean, key=lambda name: by_mean[name])


def _requests(parameters: Parameters) -> float:
    return (parameters.subscribers + parameters.downloaders) * parameters.client_law.sites_per_client
