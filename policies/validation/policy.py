"""What a validation policy is."""

from typing import Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.verdict import Verdict


class Policy(Protocol):
    """A rule that gives a copy its expiry: a pure function of what is known when the copy is stored or validated."""

    @property
    def name(self) -> str:
        """Its name in SPEC, configuration and reports."""
        ...

    @property
    def wants_fallback(self) -> bool:
        """Whether another rule should decide while hardly any update of the object is known (see `bounds`)."""
        ...

    def verdict(self, history: History, group: Group | None, t: float) -> Verdict:
        """The expiry of a copy that is current at t, where t_0 <= t. Updates after t are not looked at.

        `group` is the group of the object; None, where no group is known, is a group without updates.
        """
        ...
