"""RxC: many requests, and an item that stays as it is for long."""

import math
from collections.abc import Sequence
from typing import Self

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.ranking import Ranking
from bestbefore.policies.dissemination.scheduler import Scheduler

WEIGHT = 2 / 3
"""The weight of the earlier estimate at a change, w in figure 3."""


class RequestsByChange(Scheduler):
    """Sends the item with the greatest R x C: C is the time between changes of the item, a floating average.

    At the first change C is the time since the start, at each later one w C + (1 - w) (time since the last change).
    Items that have not changed yet come before all others, by their R. Changes at the same time are one.

    Source: Lam, Garcia-Molina, section 3, "RxC", figure 3.
    """

    name = "rxc"

    def __init__(
        self,
        audience: Audience,
        *,
        start_s: float = 0.0,
        weight: float = WEIGHT,
        intervals_s: Sequence[float] | None = None,
    ) -> None:
        """`intervals_s` gives the true mean time between changes of each item in place of the average ("RxC ideal")."""
        super().__init__(audience)
        self._items = Ranking()
        self._start_s = start_s
        self._weight = weight
        self._true = intervals_s
        self._mean_s: dict[int, float] = {}
        self._last_s: dict[int, float] = {}

    @classmethod
    def with_intervals(cls, audience: Audience, intervals_s: Sequence[float]) -> Self:
        return cls(audience, intervals_s=intervals_s)

    def changed(self, item: int, time_s: float, page: int = 0) -> None:
        if self._true is None:
            last_s = self._last_s.get(item, self._start_s)
            if time_s > last_s:
                mean_s, interval_s = self._mean_s.get(item), time_s - last_s
                self._last_s[item] = time_s
                self._mean_s[item] = (
                    interval_s if mean_s is None else mean_s * self._weight + interval_s * (1.0 - self._weight)
                )
        self.audience.changed(item, time_s, page)
        self._rank(item)

    def interval_s(self, item: int) -> float:
        """C of an item, infinite as long as it has not changed."""
        return self._mean_s.get(item, math.inf) if self._true is None else self._true[item]

    def choose(self, time_s: float) -> int | None:  # noqa: ARG002 (the choice depends on no time)
        first = self._items.first()
        return first and first[1]

    def _rank(self, item: int) -> None:
        requests, interval_s = self.audience.requests[item], self.interval_s(item)
        if not requests:
            self._items.discard(item)
        elif math.isinf(interval_s):
            self._items.put(item, (0.0, -requests, self.audience.tie[item]))
        else:
            self._items.put(item, (1.0, -requests * interval_s, self.audience.tie[item]))
