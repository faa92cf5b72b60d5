"""Breakdowns of counts: by the domains of objects, or by labels of objects from a file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from bestbefore.replay.domains import domain_of
from bestbefore.replay.simulate.counts import Counts, RefreshCounts

DOMAIN = "domain"
NO_LABEL = ""
"""The label of objects that the file does not name."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A breakdown of a trace into parts, by object."""

    key: str
    """The kind of the parts, such as `domain`: the column under which a part is reported."""
    parts: Mapping[str, str]
    """The part of each object."""

    @classmethod
    def by_domain(cls, objects: Iterable[str]) -> Self:
        """Make the breakdown by the hosts of objects (see `domain_of`)."""
        return cls(DOMAIN, {object_: domain_of(object_) for object_ in objects})

    @classmethod
    def by_label(cls, column: str, labels: Mapping[str, str], objects: Iterable[str]) -> Self:
        """Make the breakdown by labels of objects."""
        return cls(column, {object_: labels.get(object_, NO_LABEL) for object_ in objects})

    def count[C: (Counts, RefreshCounts)](self, counts: Mapping[str, C]) -> dict[str, C]:
        """Sum the counts of objects to the counts of parts, ordered by the names of the parts."""
        members: dict[str, list[C]] = {}
        for object_, counted in counts.items():
            members.setdefault(self.parts[object_], []).append(counted)
        return {part: type(members[part][0]).total(members[part]) for part in sorted(members)}
