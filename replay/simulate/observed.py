"""Observed histories: policies know what a proxy alone would have seen."""

from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import Self

from bestbefore.addon.engine.learning import Learnt, Record, observe
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.replay.simulate.complete import CompleteHistories
from bestbefore.replay.simulate.observed_group import ObservedGroup
from bestbefore.replay.traces.columns.columns import Requests

VARIANT = ""
"""There is one of each object: a trace does not tell variants apart."""


class Warm(StrEnum):
    """What is known at the test start."""

    CONTACTS = "contacts"
    """What one observer learnt for whom each request before it was a contact."""
    NONE = "none"
    COMPLETE = "complete"
    """The whole history up to it."""


@dataclass(slots=True)
class ObservedHistories:
    """The history of each object as its contacts showed it, and of each group as its members' contacts did.

    A contact shows whether the object changed since the last one and when it last did: what lies between is never
    known. All caches share these histories. They are learnt by the rule that learns live (`engine.learning`), which
    also says when an object joins its group, how long updates are kept one by one, and that a second contact at the
    same instant teaches nothing.
    """

    complete: CompleteHistories
    """How the objects really change."""
    records: dict[str, Record] = field(default_factory=dict)
    histories: dict[str, History] = field(default_factory=dict)
    """Those of the records. Most contacts find nothing new, and a history takes time to make."""
    groups: defaultdict[str, ObservedGroup] = field(default_factory=lambda: defaultdict(ObservedGroup))

    @classmethod
    def at_test_start(cls, complete: CompleteHistories, warm: Warm, requests: Requests, test_start_s: float) -> Self:
        """Return what is known at the test start, if these are the requests from the origin on."""
        known = cls(complete)
        match warm:
            case Warm.CONTACTS:
                for r, _, object_ in takewhile(lambda row: row[0] < test_start_s, requests.rows()):
                    known.contact(object_, r)
            case Warm.COMPLETE:
                for object_ in complete.histories:
                    known.report(object_, test_start_s)
            case Warm.NONE:
                pass
        return known

    def copy(self) -> "ObservedHistories":
        """Return a copy that learns on independently."""
        return ObservedHistories(self.complete, dict(self.records), dict(self.histories), deepcopy(self.groups))

    def contact(self, object_: str, t: float) -> tuple[History, Group]:
        """Return what is known after a contact, as `HistorySource.contact` does."""
        self._learn(object_, observe(self.records.get(object_), self._observation(object_, t)))
        return self.histories[object_], self._group(object_).group

    def report(self, object_: str, t: float) -> None:
        """Report the updates of an object, as `HistorySource.report` does."""
        truth = self.complete.history(object_)
        times = tuple(truth.times_s[: truth.times_s.searchsorted(t, side="right")].tolist())
        report = replace(self._observation(object_, t), reported_s=times, reported_since_s=truth.since_s)
        self._learn(object_, observe(None, report))

    def _observation(self, object_: str, t: float) -> Observation:
        return Observation(object_, t, variant=VARIANT, fingerprint=self._content(object_, t))

    def _content(self, object_: str, t: float) -> Fingerprint:
        """Return what is seen of an object at t: the number of its updates serves as the digest of its content."""
        times = self.complete.history(object_).times_s
        updates = int(times.searchsorted(t, side="right"))
        return Fingerprint(body=str(updates), last_modified_s=float(times[updates - 1]) if updates else None)

    def _learn(self, object_: str, learnt: Learnt) -> None:
        if not learnt.applied:
            return
        before = self.records.get(object_)
        self.records[object_] = learnt.record
        if before is None or learnt.record.updates is not before.updates:
            self.histories[object_] = learnt.record.history()
        self._group(object_).add(learnt)

    def _group(self, object_: str) -> ObservedGroup:
        return self.groups[self.complete.grouping.group_of(object_)]
