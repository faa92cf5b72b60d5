"""What is known of objects in a replay in order of time: what contacts have shown, or all updates so far.

Both classes have the same methods. Compiled code selects them by class.
"""

import math
from collections.abc import MutableSequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.validation.machinery.control import mean_rate_per_s
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.rows import prefetch
from bestbefore.replay.kernels.arrays.tallies import keep_after
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.complete_features import CompleteFeatures
from bestbefore.replay.kernels.learning import LearntColumns, learn, updates_per_s
from bestbefore.replay.kernels.lookup import first_after, updates_of
from bestbefore.replay.kernels.observed_features import ObservedFeatures
from bestbefore.replay.kernels.rule import AnyRule
from bestbefore.replay.traces.columns.columns import IdArray

SOON = 6
"""The contacts between the prefetch of a row and its use."""
LINE_UPDATES = 4
"""The learnt updates in a cache line: of the last ones, up to as many lie in the line before that of their end."""


class DecisionContact(NamedTuple):
    """The contact after which a decision is made, beside what is known of the object."""

    t: float
    state: float
    """The state of the policy, NaN at first."""
    changed: bool
    price: float
    """The controlled price; NaN without."""
    asked: CopyDemand
    """The requests for the copy, if the policy reads them."""


class KnownByContacts(NamedTuple):
    """Histories as contacts have shown them."""

    truth: Truth
    learnt: LearntColumns

    def observe(self, object_: int, t: float) -> None:
        """Learn from a contact at t."""
        learn(self.truth, self.learnt, object_, t)

    def features_at(self, object_: int, moment: DecisionContact, rule: AnyRule, by_bin: ByBin) -> ObservedFeatures:
        """Return the features of an object that has just been contacted."""
        learnt, after_s = self.learnt, moment.t - rule.history_window_s
        owner = learnt.owner_of[object_]
        if learnt.counts:
            keep_after(learnt.window, learnt.updates, owner, after_s)
        return ObservedFeatures(
            moment.t, moment.state, moment.changed, moment.price, rule.least_exposure_h, by_bin, learnt, object_,
            owner, learnt.group_of[object_], after_s, moment.asked,
        )

    def following_s(self, object_: int) -> float:
        """Return the time of the first update after the last contact, infinite if there is none."""
        return float(self.learnt.next_s[object_])

    def history_s(self, object_: int, t: float) -> float:
        """Return for how long an object has been observed at t."""
        return float(t - self.learnt.since_s[object_])

    def updates_in_history(self, object_: int) -> int:
        """Return the number of updates known at the last contact, of the time in which the object was observed."""
        learnt = self.learnt
        owner, updates = learnt.owner_of[object_], learnt.updates
        end = updates.ends[owner]
        return int(end - first_after(updates.times_s, updates.firsts[owner], end, learnt.since_s[object_]))

    def mean_rate(self, object_: int, t: float) -> float:
        """Return the mean rate of updates as of a contact at t, by which the control of a price predicts."""
        return updates_per_s(self.learnt, object_, t)

    def load_rows(self, object_ids: IdArray, late: MutableSequence[int], k: int, n: int) -> None:
        """Prefetch the rows of the contacts after `late[k]` in three steps: each finds its places by the last."""
        truth, learnt = self.truth, self.learnt
        prefetch(learnt.since_s, object_ids[late[min(k + 3 * SOON, n - 1)]])
        object_ = object_ids[late[min(k + 2 * SOON, n - 1)]]
        prefetch(truth.updates_s, learnt.seen[object_])
        if learnt.counts:
            prefetch(learnt.window.oldest, learnt.owner_of[object_])
            prefetch(learnt.folded, learnt.owner_of[object_])
            owner = learnt.owner_of[object_ids[late[min(k + SOON, n - 1)]]]
            prefetch(learnt.updates.times_s, learnt.updates.ends[owner])
            prefetch(learnt.updates.times_s, learnt.updates.ends[owner] - LINE_UPDATES)
            prefetch(learnt.updates.times_s, learnt.window.oldest[owner])


class KnownCompletely(NamedTuple):
    """Complete histories, with how much of them lies before the last contact."""

    histories: PackedHistories
    seen_until: NDArray[np.int64]
    """(objects,) the first update of `histories` after the last contact."""

    @classmethod
    def of(cls, histories: PackedHistories) -> Self:
        """Return the state before any contact."""
        return cls(histories, histories.objects.firsts[histories.history_of].astype(np.int64))

    def observe(self, object_: int, t: float) -> None:
        objects = self.histories.objects
        _, last = updates_of(objects, self.histories.history_of[object_])
        self.seen_until[object_] = first_after(objects.times_s, self.seen_until[object_], last, t)

    def features_at(self, object_: int, moment: DecisionContact, rule: AnyRule, by_bin: ByBin) -> CompleteFeatures:
        known, seen, after_s = self.histories, self.seen_until[object_], moment.t - rule.history_window_s
        owner = known.history_of[object_]
        first, last = updates_of(known.objects, owner)
        counted = first_after(known.objects.times_s, first, seen, after_s)
        return CompleteFeatures(
            moment.t, moment.state, moment.changed, moment.price, rule.least_exposure_h, by_bin, known, owner,
            known.group_of[object_], first, counted, seen, last, after_s, moment.asked,
        )

    def following_s(self, object_: int) -> float:
        objects, seen = self.histories.objects, self.seen_until[object_]
        _, last = updates_of(objects, self.histories.history_of[object_])
        return float(objects.times_s[seen]) if seen < last else math.inf

    def history_s(self, object_: int, t: float) -> float:  # noqa: ARG002
        return t - self.histories.since_s

    def updates_in_history(self, object_: int) -> int:
        objects, seen = self.histories.objects, self.seen_until[object_]
        first, _ = updates_of(objects, self.histories.history_of[object_])
        return int(seen - first_after(objects.times_s, first, seen, self.histories.since_s))

    def mean_rate(self, object_: int, t: float) -> float:
        return mean_rate_per_s(self.updates_in_history(object_), self.history_s(object_, t))

    def load_rows(self, object_ids: IdArray, late: MutableSequence[int], k: int, n: int) -> None:
        """Leave it to the processor."""


type Known = KnownByContacts | KnownCompletely
