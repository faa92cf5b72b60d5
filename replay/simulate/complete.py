"""Complete histories: at each decision policies know all updates up to that moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from bestbefore.addon.domain import registrable_domain
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.replay.domains import domain_of
from bestbefore.replay.traces.columns.columns import Updates


class Grouping(StrEnum):
    """The grouping of objects."""

    ALL = "all"
    PREFIX = "prefix"
    """Objects with the same part of the name before the first `/`, or with the same name if there is no `/`."""

    DOMAIN = "domain"
    """Objects whose hosts have the same registrable domain, as in the live proxy."""

    def group_of(self, object_: str) -> str:
        """The name of the group of an object."""
        match self:
            case Grouping.ALL:
                return ""
            case Grouping.PREFIX:
                return object_.partition("/")[0]
            case Grouping.DOMAIN:
                return registrable_domain(domain_of(object_))


@dataclass(frozen=True, slots=True)
class CompleteHistories:
    """The history of each object and of each group, over the whole trace.

    They extend beyond the moment of a decision; policies read only what lies before it.
    """

    histories: Mapping[str, History]
    groups: Mapping[str, Group]
    grouping: Grouping

    @classmethod
    def of(cls, updates: Updates, requested: Iterable[str], origin_s: float, grouping: Grouping) -> Self:
        """Make histories of all objects that were updated or requested, each observed since the origin.

        `updates` holds those at or after the origin.
        """
        times = updates.times_by_object()
        nothing = np.empty(0)
        names = sorted({*updates.objects, *requested})
        return cls.of_histories({name: History(times.get(name, nothing), origin_s) for name in names}, grouping)

    @classmethod
    def of_histories(cls, histories: Mapping[str, History], grouping: Grouping) -> Self:
        """Make histories of these objects, each with its own t_0."""
        members: dict[str, list[History]] = {}
        for name, history in histories.items():
            members.setdefault(grouping.group_of(name), []).append(history)
        groups = {
            name: Group.of_members([h.times_s for h in group], [h.since_s for h in group])
            for name, group in members.items()
        }
        return cls(histories, groups, grouping)

    def contact(self, object_: str, t: float) -> tuple[History, Group]:  # noqa: ARG002
        """Return the complete history and group, whatever contacts there were; see `HistorySource.contact`."""
        return self.histories[object_], self.groups[self.grouping.group_of(object_)]

    def report(self, object_: str, t: float) -> None:
        """Do nothing, as complete histories are always known; see `HistorySource.report`."""

    def history(self, object_: str) -> History:
        """Return the history of an object over the whole trace."""
        return self.histories[object_]

    def group(self, object_: str) -> Group:
        """Return the group of an object over the whole trace."""
        return self.groups[self.grouping.group_of(object_)]
