"""The tolerance of a policy, under which the hazard that it expects makes a copy expire."""

import math
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.validation.machinery.features import Features


class Mass(NamedTuple):
    """The copy expires when theta updates are expected."""

    theta: float

    def passage_s(
        self, features: Features, edges_s: Sequence[float], rates_per_hour: MutableSequence[float], scale: float
    ) -> float:
        """The expiry where `scale` times these rates hold in the segments of the day; see `intensity`."""
        # Rates `scale` times as high have the mass theta when the given ones have the mass theta / scale.
        return first_passage_s(edges_s, rates_per_hour, features.t, self.theta / scale)

    def waning_passage_s(self, features: Features, since_s: float) -> float:
        """The expiry where the rate is 1 / (time since `since_s`)."""
        return features.t + math.expm1(self.theta) * (features.t - since_s)
