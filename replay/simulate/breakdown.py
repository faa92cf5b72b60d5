"""Counting parts of a trace apart: by the domains of objects, or by what a file says of each object."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from bestbefore.replay.domains import domain_of

DOMAIN = "domain"
NO_LABEL = ""
"""The part of objects of which the file says nothing."""


class Counted(Protocol):
    """The interface of counts of objects: `counts.Counts`, `counts.RefreshCounts`."""

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """The counts of several objects together."""
        ...


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A breakdown: to which part each object belongs."""

    key: str
    """What the parts are: the name under which each is reported."""
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

    def count[C: Counted](self, counts: Mapping[str, C]) -> dict[str, C]:
        """The counts of each part from those of each object; the parts by name."""
        members: dict[str, list[C]] = {}
        for object_, counted in counts.items():
            members.setdefault(self.parts[object_], []).append(counted)
        return {part: type(members[part][0]).total(members[part]) for part in sorted(members)}
