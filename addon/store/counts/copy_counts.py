"""What is counted of one copy: the requests for it, and the stale hits predicted since its last contact."""

from typing import NamedTuple

from bestbefore.policies.models import demand
from bestbefore.policies.models.demand import CopyDemand


class CopyCounts(NamedTuple):
    """The counts of one copy."""

    demand: CopyDemand
    contact_s: float = 0.0
    """When the copy was current; 0: nothing is predicted for it."""
    predicted: int = 0
    """The stale hits predicted since then, in millionths (`machinery.control`)."""

    def predicted_since(self, contact_s: float) -> int:
        """Return the stale hits predicted since a contact: none if this counts from another one on."""
        return self.predicted if self.contact_s == contact_s else 0

    def with_hits(self, requests: CopyDemand, contact_s: float, predicted: int) -> "CopyCounts":
        """Return the counts with further predicted stale hits; those from before the later contact are dropped.

        `requests`: the demand with the further requests.
        """
        latest_s = max(self.contact_s, contact_s)
        further = predicted if contact_s == latest_s else 0
        return CopyCounts(requests, latest_s, self.predicted_since(latest_s) + further)


def joined(one: CopyCounts, other: CopyCounts) -> CopyCounts:
    """Return the counts of the same copy in two places."""
    return one.with_hits(demand.joined(one.demand, other.demand), other.contact_s, other.predicted)
