"""Verdicts on printed values, orders and recommendations, each by a stated tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.seed_mean import SeedMean
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.multicast.measures import ChannelMeasure, shown
from bestbefore.replay.papers.multicast.simulations import Simulations

TOLERANCE = 0.02
"""Of a printed freshness, beside our interval."""
DELAY_TOLERANCE = 0.2
"""Of a printed delay, as a share, beside our interval."""
ORDERS = """What the text says of the figures. An order is judged by the differences of neighbours on the same
instances; two whose difference is within its 95 % interval count neither for it nor against it."""
HEADS = ("what", "scheduler", "printed", "ours", "difference", "agrees")


@dataclass(frozen=True, slots=True)
class PrintedMeasure:
    """A value that the paper prints for a scheduler."""

    what: str
    scheduler: str
    parameters: Parameters
    measure: ChannelMeasure
    printed: str

    def ours(self, simulations: Simulations) -> SeedMean:
        """Our value."""
        return simulations.mean(self.scheduler, self.parameters, self.measure)

    def agrees(self, simulations: Simulations) -> bool:
        """Whether the printed value lies within the tolerance of our interval."""
        printed, ours = float(self.printed), self.ours(simulations)
        tolerance = DELAY_TOLERANCE * printed if self.measure.is_time else TOLERANCE
        return abs(ours.mean - printed) <= tolerance + ours.half_width

    def row(self, simulations: Simulations) -> tuple[str, ...]:
        """The row of the page."""
        ours, digits = self.ours(simulations), self.measure.digits
        return (
            self.what, shown(self.scheduler), self.printed, ours.text(digits),
            f"{ours.mean - float(self.printed):+.{digits}f}", verdict(self.agrees(simulations)),
        )


def is_better(
    simulations: Simulations, first: str, second: str, parameters: Parameters, measure: ChannelMeasure
) -> bool | None:
    """Whether the first scheduler is better than the second; None if the interval of the difference includes 0."""
    difference = simulations.difference(first, second, parameters, measure)
    if abs(difference.mean) <= difference.half_width:
        return None
    return (difference.mean < 0.0) == measure.is_time


def recommendation(
    simulations: Simulations, schedulers: Sequence[str], recommended: Sequence[str], parameters: Parameters,
    measure: ChannelMeasure,
) -> tuple[str, bool]:
    """Return the means, best first, and whether each recommended scheduler is nearly as good as the best."""
    by_mean = {name: simulations.mean(name, parameters, measure).mean for name in schedulers}
    ordered = sorted(by_mean, key=lambda name: by_mean[name], reverse=not measure.is_time)
    ours = ", ".join(f"{shown(name)} {by_mean[name]:.{measure.digits}f}" for name in ordered)
    best = by_mean[ordered[0]]
    return ours, all(measure.is_near(by_mean[name], best) for name in recommended)


def order_claim(
    simulations: Simulations, where: str, printed: str, parameters: Parameters, measure: ChannelMeasure,
    order: Sequence[str],
) -> Claim:
    """The claim that schedulers, best first, are in this order."""
    held = [
        is_better(simulations, first, second, parameters, measure)
        for first, second in pairwise(order)
    ]
    ours = ", ".join(
        f"{shown(name)} {simulations.mean(name, parameters, measure).text(measure.digits)}" for name in order
    )
    return Claim(where, printed, ours, "each better than the next beyond the interval", verdict(*held))
