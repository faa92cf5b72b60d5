"""Observed histories: policies know what a proxy learns from its contacts."""

from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import Self

from bestbefore.addon.engine.learning import Record, RecordChange, observe
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.replay.simulate.complete import CompleteHistories
from bestbefore.replay.simulate.observed_group import ObservedGroup
from bestbefore.replay.traces.columns.columns import Requests

VARIANT = ""
"""The variant of all observations: a trace does not distinguish variants."""


class Warm(StrEnum):
    """The histories at the test start."""

    CONTACTS = "contacts"
    """Learnt from the requests before the test start, each taken as a contact."""
    NONE = "none"
    """Empty."""
    COMPLETE = "complete"
    """Complete up to the test start."""


@dataclass(slots=True)
class ObservedHistories:
    """The histories of objects and groups as contacts show them.

    A contact shows whether the object changed since the contact before, and perhaps when it last changed; other updates
    in between stay unknown. All caches share these histories. The live code (`engine.learning`) learns them; it also
    decides when an object joins its group, how long single updates are kept, and that a second contact at the same
    instant is ignored.
    """

    complete: CompleteHistories
    """The true histories."""
    records: dict[str, Record] = field(default_factory=dict)
    """The record of each observed object."""
    histories: dict[str, History] = field(default_factory=dict)
    """The histories of the records, kept because most contacts do not change them."""
    groups: defaultdict[str, ObservedGroup] = field(default_factory=lambda: defaultdict(ObservedGroup))
    tells_times: bool = True
    """Whether a contact shows when the object last changed, as a Last-Modified does."""

    @classmethod
    def at_test_start(
        cls,
        complete: CompleteHistories,
        warm: Warm,
        requests: Requests,
        test_start_s: float,
        *,
        tells_times: bool = True,
    ) -> Self:
        """Return the histories at the test start; `requests` begin at the origin."""
        known = cls(complete, tells_times=tells_times)
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
        return replace(
            self, records=dict(self.records), histories=dict(self.histories), groups=deepcopy(self.groups)
        )

    def contact(self, object_: str, t: float) -> tuple[History, Group]:
        """Observe a contact and return the history and group; see `HistorySource.contact`."""
        self._learn(object_, observe(self.records.get(object_), self._observation(object_, t)))
        return self.histories[object_], self._group(object_).group

    def report(self, object_: str, t: float) -> None:
        """Report all updates of an object up to t; see `HistorySource.report`."""
        truth = self.complete.history(object_)
        times = tuple(truth.times_s[: truth.times_s.searchsorted(t, side="right")].tolist())
        report = replace(self._observation(object_, t), reported_s=times, reported_since_s=truth.since_s)
        self._learn(object_, observe(None, report))

    def _observation(self, object_: str, t: float) -> Observation:
        return Observation(object_, t, variant=VARIANT, fingerprint=self._content(object_, t))

    def _content(self, object_: str, t: float) -> Fingerprint:
        """Return the fingerprint of an object at t, with the number of its updates as the digest of its content."""
        times = self.complete.history(object_).times_s
        updates = int(times.searchsorted(t, side="right"))
        modified_s = float(times[updates - 1]) if updates and self.tells_times else None
        return Fingerprint(body=str(updates), last_modified_s=modified_s)

    def _learn(self, object_: str, learnt: RecordChange) -> None:
        if not learnt.applied:
            return
        before = self.records.get(object_)
        self.records[object_] = learnt.record
        if before is None or learnt.record.updates is not before.updates:
            self.histories[object_] = learnt.record.history()
        self._group(object_).add(before, learnt)

    def _group(self, object_: str) -> ObservedGroup:
        return self.groups[self.complete.grouping.group_of(object_)]
