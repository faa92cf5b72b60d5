"""The interface of what policies know in a replay."""

from typing import Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History


class HistorySource(Protocol):
    """Answers each contact with what is known of its object after it."""

    def contact(self, object_: str, t: float) -> tuple[History, Group]:
        """The history of the object and its group once the origin has been asked at t, not earlier than before."""
        ...

    def report(self, object_: str, t: float) -> None:
        """Let the whole history of an object up to t be known. Nothing was known of it before."""
        ...
