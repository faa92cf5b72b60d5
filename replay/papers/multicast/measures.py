"""The measures of a simulated channel that figures and tables show."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.channel import Served
from bestbefore.replay.multicast.runs import mean_delay_days

WEEK = 7
_NAMES = {"circ": "Circ", "pop": "Pop", "rq": "R/Q", "rxw": "RxW", "rxc": "RxC", "rxc_ideal": "RxC ideal"}


def shown(scheduler: str) -> str:
    """The name of a scheduler as the paper writes it.

    >>> shown("rq"), shown("gain")
    ('R/Q', 'gain')
    """
    return _NAMES.get(scheduler, scheduler)


@dataclass(frozen=True, slots=True)
class ChannelMeasure:
    """A measure, with how it is shown and compared."""

    name: str
    of: Callable[[Served], float]
    digits: int = 3
    is_time: bool = False
    """Whether it is a time, of which less is better and differences are shares; else a freshness."""

    def is_near(self, value: float, best: float) -> bool:
        """Whether a value is nearly as good as the best: within 0.01 of a freshness or 5 % of a time."""
        return value <= 1.05 * best if self.is_time else value >= best - 0.01


def _mean_delay(served: Served) -> float:
    delay_days = mean_delay_days(served.delays_s)
    return math.inf if delay_days is None else delay_days


def _mean_delay_in_a_week(served: Served) -> float:
    return _mean_delay(Served(delays_s=[delay_s for delay_s in served.delays_s if delay_s <= WEEK * DAY_S]))


CLIENTS = ChannelMeasure("freshness over clients", lambda served: served.by_day[-1].freshness_over_clients)
DATA = ChannelMeasure("freshness over data", lambda served: served.by_day[-1].freshness_over_data)
AGE_CLIENTS = ChannelMeasure(
    "age over clients, days", lambda served: served.by_day[-1].age_over_clients_s / DAY_S, 1, is_time=True
)
AGE_DATA = ChannelMeasure(
    "age over data, days", lambda served: served.by_day[-1].age_over_data_s / DAY_S, 1, is_time=True
)
WEEK_CLIENTS = ChannelMeasure(
    "freshness over clients at one week", lambda served: served.by_day[WEEK - 1].freshness_over_clients
)
WEEK_DATA = ChannelMeasure(
    "freshness over data at one week", lambda served: served.by_day[WEEK - 1].freshness_over_data
)
WEEK_AGE = ChannelMeasure(
    "age over clients at one week, days", lambda served: served.by_day[WEEK - 1].age_over_clients_s / DAY_S, 2,
    is_time=True,
)
DELAY = ChannelMeasure("mean delay, days", _mean_delay, 2, is_time=True)
WEEK_DELAY = ChannelMeasure("mean delay of those complete within a week, days", _mean_delay_in_a_week, 2, is_time=True)
COMPLETE = ChannelMeasure("complete downloaders", lambda served: float(len(served.delays_s)), 0)
