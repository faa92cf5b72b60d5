"""The features of an object and its group that a policy may use at the moment of a decision.

Each representation of histories provides the same features: `history_features` from a record, and two modules of the
fast engine from the arrays of a packed trace and of observed contacts. A policy reads the features that it needs; no
representation depends on a policy.
"""

from collections.abc import MutableSequence, Sequence
from enum import Flag
from typing import NamedTuple, Protocol, Self

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.models.intensity import HOURLY_S

RECENT_GAPS = 32
"""The number of latest gaps between updates, of an object or of a group, that are kept as features."""


class Needs(Flag):
    """The features that a policy reads beside t, t_0 and the last update, which are always available."""

    NONE = 0
    COUNTS = 1
    """Counted updates of the object, in all, within a window or by hour bin, and the gaps between them."""
    GROUP = 2
    """Any feature of the object's group."""
    OUTCOME = 4
    """The state that the policy kept for this copy, and whether the object has changed since."""
    FUTURE = 8
    """Updates after t, which only a replay knows."""
    MEMORY = 16
    """The memory of the object's updates."""
    DEMAND = 32
    """The requests for the copy."""


class ByBin(NamedTuple):
    """Working arrays for counts and estimates by segment of the day, allocated once for many decisions.

    The fields are lists or arrays. The segments are the 24 hour bins unless said otherwise.
    """

    hourly_s: Sequence[float]
    """(25,) the edges of the hour bins, never written to."""
    group_edges_s: Sequence[float]
    """The edges of the segments of the group, valid after `set_group_counts`; mostly those of the hour bins."""
    counts: MutableSequence[int]
    """(24,) the updates in each segment."""
    hours: MutableSequence[float]
    """(24,) the hours for which each segment was observed."""
    rates: MutableSequence[float]
    """(24,) updates per hour in each segment, or the group's pattern s_k."""
    segments: MutableSequence[int]
    """(25,) the first bins of joined segments, written by `set_segments`."""
    begins: MutableSequence[int]
    """(25,) a working array of `set_segments`."""
    worths: MutableSequence[float]
    """(25,) a working array of `set_segments`."""
    edges_s: MutableSequence[float]
    """(25,) the edges of joined segments."""
    gaps_s: MutableSequence[float]
    """(`RECENT_GAPS`,) the latest gaps between updates, the latest first."""

    @classmethod
    def of_lists(cls, edges_s: Sequence[float] = HOURLY_S) -> Self:
        """Make zeroed lists for these segments of the day."""
        bins = len(edges_s) - 1
        return cls(
            HOURLY_S, edges_s, [0] * bins, [0.0] * bins, [0.0] * bins, [0] * (bins + 1), [0] * (bins + 1),
            [0.0] * (bins + 1), [0.0] * (bins + 1), [0.0] * RECENT_GAPS,
        )


class Features(Protocol):
    """The features at the moment t at which a copy is stored or found current. Times are Unix seconds.

    The *counted* updates are those in (t - history_window, t]. A method named `set_...` writes into `by_bin`.
    """

    @property
    def t(self) -> float:
        """The moment of the decision."""
        ...

    @property
    def state(self) -> float:
        """The state that the policy kept for this copy at its last contact; NaN for one that has just been stored."""
        ...

    @property
    def changed(self) -> bool:
        """Whether this contact found the object changed since the last one for this copy."""
        ...

    @property
    def price(self) -> float:
        """The price of a stale hit that the control of a stale rate has set; NaN: it is the policy's own."""
        ...

    @property
    def least_exposure_h(self) -> float:
        """The hours of observation below which an hour bin gets the mean rate; 0: each bin has its own rate."""
        ...

    @property
    def by_bin(self) -> ByBin:
        """The working arrays into which methods and estimates write their results."""
        ...

    def known_since_s(self) -> float:
        """t_0: the start of observation of the object."""
        ...

    def observed_since_s(self) -> float:
        """The time from which updates are counted: t_0, or later where the history window begins later."""
        ...

    def last_update_s(self) -> float:
        """u_n, the latest update up to t, counted or not; NaN if none is known."""
        ...

    def next_update_s(self) -> float:
        """The first update after t; infinite if there is none. Only a replay knows it."""
        ...

    def counted_updates(self) -> int:
        """n: the number of counted updates."""
        ...

    def updates_within(self, window_s: float) -> int:
        """The number of updates in (t - window_s, t], regardless of the history window."""
        ...

    def oldest_within_s(self, window_s: float, within: int) -> float:
        """The first update in (t - window_s, t]; `within` >= 1 is the result of `updates_within`."""
        ...

    def set_counts(self) -> int:
        """Set `counts` to n_k, the counted updates in each hour bin, and return their sum n."""
        ...

    def set_counts_before(self, window_s: float, within: int) -> int:
        """Set `counts` to the counted updates up to t - window_s in each hour bin, and return their sum.

        t - window_s must lie after `observed_since_s`; `within` is the result of `updates_within`.
        """
        ...

    def set_gaps(self) -> int:
        """Set `gaps_s` to the times between the last counted updates, at most `RECENT_GAPS`, the latest first.

        Returns the number of gaps, one less than the number of these updates.
        """
        ...

    def group_since_s(self) -> float:
        """The time from which updates of the group are counted; infinite for a group without members."""
        ...

    def set_group_counts(self) -> int:
        """Set `counts` to N_k, the counted updates of all members in each segment, and return their sum N."""
        ...

    def member_hours(self) -> float:
        """The hours in (t - history_window, t] for which the members were observed, summed over the members."""
        ...

    def set_group_gaps(self) -> int:
        """As `set_gaps` for the updates of all members of the group; updates at one instant have gaps of 0."""
        ...

    def group_weekend_updates(self) -> int:
        """The number of counted updates of all members on Saturdays and Sundays."""
        ...

    def group_rate_per_s(self) -> float:
        """The geometric mean of the members' rates, updates per second; one a day for a group without members.

        The rate of a member is (updates + 0.5) / (time observed).
        """
        ...

    def update_memory(self) -> UpdateMemory:
        """The memory of the object's updates, as of the last one up to t; it is the same in any history window."""
        ...

    def demand(self) -> CopyDemand:
        """The requests for the copy, the one at t included."""
        ...
