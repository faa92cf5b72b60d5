"""The features of an object from the observations of its contacts, compiled unchanged by `compiled`."""

import math
from typing import NamedTuple

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.models.member_rates import mean_rate_per_s
from bestbefore.policies.validation.machinery.features import RECENT_GAPS, ByBin
from bestbefore.replay.kernels.arrays.membership import hours_observed
from bestbefore.replay.kernels.arrays.tallies import keep_after, set_counts
from bestbefore.replay.kernels.learning import NEVER_S, LearntColumns, memory_of
from bestbefore.replay.kernels.lookup import first_after, first_after_near_end


class ObservedFeatures(NamedTuple):
    """The features of an object that has just been contacted at t. See `Features`.

    What is too old has been taken out of the window of its own updates, that of the group is left to be.
    """

    t: float
    state: float
    changed: bool
    price: float
    least_exposure_h: float
    by_bin: ByBin
    learnt: LearntColumns
    object_: int
    owner: int
    """Whose updates in `learnt.updates` those of the object are."""
    group: int
    after_s: float
    """Updates after this are counted."""
    asked: CopyDemand
    """The requests for the copy, if the policy reads them."""

    def known_since_s(self) -> float:
        return float(self.learnt.since_s[self.object_])

    def observed_since_s(self) -> float:
        return max(float(self.learnt.since_s[self.object_]), self.after_s)

    def last_update_s(self) -> float:
        last_s = float(self.learnt.last_s[self.object_])
        return math.nan if last_s == NEVER_S else last_s

    def next_update_s(self) -> float:
        return math.nan  # never asked for: a policy that needs it has complete histories

    def counted_updates(self) -> int:
        return int(self.learnt.window.totals[self.owner])

    def updates_within(self, window_s: float) -> int:
        updates = self.learnt.updates
        first, end = updates.firsts[self.owner], updates.ends[self.owner]
        return int(end - first_after_near_end(updates.times_s, first, end, self.t - window_s))

    def oldest_within_s(self, window_s: float, within: int) -> float:  # noqa: ARG002
        updates = self.learnt.updates
        return float(updates.times_s[updates.ends[self.owner] - within])

    def set_counts(self) -> int:
        set_counts(self.by_bin.counts, self.learnt.window, self.owner)
        return self.counted_updates()

    def set_counts_before(self, window_s: float, within: int) -> int:  # noqa: ARG002
        counted = self.set_counts()
        updates = self.learnt.updates
        end = updates.ends[self.owner]
        for place in range(end - within, end):
            self.by_bin.counts[updates.bins[place]] -= 1
        return counted - within

    def set_gaps(self) -> int:
        times_s, end = self.learnt.updates.times_s, self.learnt.updates.ends[self.owner]
        gaps = min(max(self.counted_updates() - 1, 0), RECENT_GAPS)
        for i in range(gaps):
            self.by_bin.gaps_s[i] = times_s[end - 1 - i] - times_s[end - 2 - i]
        return gaps

    def group_since_s(self) -> float:
        return max(float(self.learnt.members.since_s[self.group]), self.after_s)

    def set_group_counts(self) -> int:
        learnt = self.learnt
        keep_after(learnt.group_window, learnt.hours, self.group, self.after_s)
        set_counts(self.by_bin.counts, learnt.group_window, self.group)
        return int(learnt.group_window.totals[self.group])

    def member_hours(self) -> float:
        return hours_observed(self.learnt.members, self.group, self.after_s, self.t)

    def set_group_gaps(self) -> int:
        hours = self.learnt.hours
        first, end = hours.firsts[self.group], hours.ends[self.group]
        place = first_after(hours.times_s, first, end, self.t) - 1
        later_s = math.inf
        gaps = -1
        while place >= first and hours.times_s[place] > self.after_s and gaps < RECENT_GAPS:
            # Of several at one instant one is as far from those after them as the hours are, the others not at all.
            for _ in range(hours.amounts[place]):
                if 0 <= gaps < RECENT_GAPS:
                    self.by_bin.gaps_s[gaps] = later_s - hours.times_s[place]
                gaps += 1
                later_s = hours.times_s[place]
            place -= 1
        return min(max(gaps, 0), RECENT_GAPS)

    def group_weekend_updates(self) -> int:
        keep_after(self.learnt.group_window, self.learnt.hours, self.group, self.after_s)
        return int(self.learnt.group_window.weekends[self.group])

    def group_rate_per_s(self) -> float:
        return mean_rate_per_s(self.learnt.rates[self.group, 0], self.learnt.rates[self.group, 1])

    def update_memory(self) -> UpdateMemory:
        return memory_of(self.learnt, self.object_)

    def demand(self) -> CopyDemand:
        return self.asked
