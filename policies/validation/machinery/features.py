"""The features of an object and its group that a policy may use at the moment of a decision.

Each representation of what is known extracts the same features: `history_features` from a record, and two modules of
the fast engine from the arrays of a packed trace and of observed contacts. A policy asks for those that it needs, and
no representation knows a policy.
"""

from collections.abc import MutableSequence, Sequence
from enum import Flag
from typing import NamedTuple, Protocol, Self

from bestbefore.policies.models.intensity import HOURLY_S

RECENT_GAPS = 32
"""At most so many of the last gaps between updates, of an object or of a group, are features."""


class Needs(Flag):
    """The features that a policy asks for beside the moment, t_0 and the last update, which are always known."""

    NONE = 0
    COUNTS = 1
    """Counted updates of the object, in all, within a window or by hour bin, and the gaps between them."""
    GROUP = 2
    """Anything of the object's group."""
    OUTCOME = 4
    """The state that the policy kept for this copy, and whether the object has changed since."""
    FUTURE = 8
    """The updates to come, which only a replay knows."""


class ByBin(NamedTuple):
    """Room for what is counted and estimated by segment of the day, so that a decision need not make lists.

    Lists or arrays. The segments are the 24 hour bins unless said otherwise.
    """

    hourly_s: Sequence[float]
    """(25,) the edges of the hour bins, which are never written to."""
    group_edges_s: Sequence[float]
    """The edges of the segments by which a group's updates are counted, once they have been: mostly the same."""
    counts: MutableSequence[int]
    """(24,)"""
    hours: MutableSequence[float]
    """(24,) the hours for which each was observed."""
    rates: MutableSequence[float]
    """(24,)"""
    segments: MutableSequence[int]
    """(25,) as `begins` and `worths`: these are written by `set_segments`."""
    begins: MutableSequence[int]
    worths: MutableSequence[float]
    edges_s: MutableSequence[float]
    """(25,) the edges of joined segments."""
    gaps_s: MutableSequence[float]
    """(`RECENT_GAPS`,)"""

    @classmethod
    def of_lists(cls, edges_s: Sequence[float] = HOURLY_S) -> Self:
        """Empty room for these segments of the day."""
        bins = len(edges_s) - 1
        return cls(
            HOURLY_S, edges_s, [0] * bins, [0.0] * bins, [0.0] * bins, [0] * (bins + 1), [0] * (bins + 1),
            [0.0] * (bins + 1), [0.0] * (bins + 1), [0.0] * RECENT_GAPS,
        )


class Features(Protocol):
    """The features at the moment t at which a copy is found current. Times are Unix seconds.

    Updates are *counted* where they lie in (t - history_window, t]. A method that says "set" writes into `by_bin`.
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
    def least_exposure_h(self) -> float:
        """An hour bin observed for less than this is given the mean rate (0: each bin has its own)."""
        ...

    @property
    def by_bin(self) -> ByBin:
        """Arrays in which methods and estimates store results by hour bin."""
        ...

    def known_since_s(self) -> float:
        """t_0: from when on the object has been observed."""
        ...

    def observed_since_s(self) -> float:
        """The time from which updates are counted: t_0, or later where the history window begins later."""
        ...

    def last_update_s(self) -> float:
        """u_n, the latest update up to t, counted or not; NaN if none is known."""
        ...

    def next_update_s(self) -> float:
        """The first update after t; infinite if none is to come. Only a replay knows it."""
        ...

    def counted_updates(self) -> int:
        """n: the counted updates."""
        ...

    def updates_within(self, window_s: float) -> int:
        """The updates in (t - window_s, t], whatever the history window is."""
        ...

    def oldest_within_s(self, window_s: float, within: int) -> float:
        """The first of them; `within` is their number, 1 or more."""
        ...

    def set_counts(self) -> int:
        """Set n_k, the counted updates in each hour bin; returns their sum."""
        ...

    def set_counts_before(self, window_s: float, within: int) -> None:
        """Set the counted updates up to t - window_s in each hour bin; `within` is what `updates_within` said.

        t - window_s must lie after `observed_since_s`.
        """
        ...

    def set_gaps(self) -> int:
        """Set `gaps_s` to the times between the last counted updates, at most `RECENT_GAPS`, the latest first.

        Returns how many there are: one less than the counted updates.
        """
        ...

    def group_since_s(self) -> float:
        """The time from which updates of the group are counted; infinite for a group without members."""
        ...

    def set_group_counts(self) -> int:
        """Set N_k, the counted updates of all members in each segment; returns N."""
        ...

    def member_hours(self) -> float:
        """The hours for which the members were observed since their updates are counted, summed over the members."""
        ...

    def set_group_gaps(self) -> int:
        """The same of the updates of all members of the group; at one instant they are several, with gaps of 0."""
        ...
