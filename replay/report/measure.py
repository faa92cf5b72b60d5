"""The measures by which policies are compared."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """The names of two counts to compare; smaller is better for both."""

    x: str = "validations"
    y: str = "stale_hits"
    whole: str | None = "cached"
    """The name of the count of which the others are shares; None if they are not."""


REQUESTS = Measure()
REFRESHES = Measure("refreshes", "mean_delay_s", None)
