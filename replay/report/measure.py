"""The measures that policies are compared by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """The counts that are compared: of both, less is better."""

    x: str = "validations"
    y: str = "stale_hits"
    whole: str | None = "cached"
    """The count of which others are a share."""


REQUESTS = Measure()
REFRESHES = Measure("refreshes", "mean_delay_s", None)
