"""The interface of the histories that policies use in a replay."""

from typing import Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History


class HistorySource(Protocol):
    """The source of histories, complete or observed, for the decisions of a replay."""

    def contact(self, object_: str, t: float) -> tuple[History, Group]:
        """Observe a contact at t, not earlier than the contact before, and return the history and group known then."""
        ...

    def report(self, object_: str, t: float) -> None:
        """Make the complete history of an object up to t known; nothing may have been known of the object before."""
        ...
