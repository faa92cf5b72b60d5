"""Observations: the result of one contact for the history of one object, to which `learning` applies it.

Two observations of a variant show whether it changed between them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.piggyback import GroupPattern
from bestbefore.addon.engine.unvalidated.evidence import ContentEvidence, Delivery
from bestbefore.addon.engine.update import TimeSpan, Update
from bestbefore.policies.units import DAY_S

LEAST_DIFFERENCE_S = 2.0
"""The smallest difference between an origin's clock and ours that counts, as Date counts whole seconds."""
MOST_DIFFERENCE_S = DAY_S
"""The largest difference that is believed."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A fingerprint, which identifies the content of one variant at one moment."""

    etag: str = ""
    """The strong entity tag, with quotes; empty if there was none or a weak one."""
    body: str = ""
    """The digest of the content; empty if it was not collected (too large, or a 304 to the client's own validator)."""
    last_modified_s: float | None = None
    gone: bool = False
    """Whether the response was a 404 or 410."""

    def same_content(self, later: "Fingerprint") -> bool | None:
        """Whether `later` identifies the same content; None if the two have no attribute in common."""
        if self.gone or later.gone:
            return self.gone == later.gone
        if self.body and later.body and self.body == later.body:
            return True
        if self.etag and later.etag:
            return self.etag == later.etag
        if self.body and later.body:
            return False
        if self.last_modified_s is not None and later.last_modified_s is not None:
            return self.last_modified_s == later.last_modified_s
        return None


@dataclass(frozen=True, slots=True)
class Observation:
    """An observation by one contact: a GET exchange that a shared cache may store.

    Applied twice it counts once, as an observation is dropped unless it is later than the last one of its object.
    """

    url: str
    t_s: float
    """When the response was current: its receipt minus the corrected initial age (RFC 9111 4.2.3)."""
    variant: str
    """The variant: the values of the request fields that Vary names; empty without Vary."""
    fingerprint: Fingerprint | None
    """None: a 304 to the proxy's validator; the content is that of the last observation of this variant."""
    counted: bool = True
    """False: the object has no validator, and the rule does not learn without one, so it does not count in its
    group."""
    reported_s: tuple[float, ...] = field(default=())
    """Updates that the origin itself lists (piggyback), of known time."""
    reported_since_s: float | None = None
    """From when on there were no updates but the reported ones."""
    reported_within: tuple[TimeSpan, ...] = field(default=())
    """Intervals in each of which the origin reports at least one update."""
    reported_unseen: tuple[TimeSpan, ...] = field(default=())
    """Intervals in which the origin may have missed updates."""
    listing: Listing | None = None
    """The items, if the content is a feed."""
    delivery: Delivery | None = None
    """The client to which it was sent, if the response had no validator."""
    group_pattern: GroupPattern | None = None
    """The pattern of the object's group that the origin sent."""
    announced_s: float | None = None
    """When the object has changed, by a signal since the last observation; None if there was none with a time."""
    cache_group: str = ""
    """The group of copies in which the object is counted (`copy.groups`); empty: it is counted with its host."""
    clock_ahead_s: float | None = None
    """By how much the origin's clock was ahead, by its Date; None if that is unknown."""

    def announced_within(self, after_s: float, by_s: float) -> float | None:
        """Return the time that a signal has announced if it lies in (after_s, by_s]; None if none does.

        As Date counts whole seconds, a contact that follows a signal may seem up to a second earlier than that.
        """
        at_s = self.announced_s
        return min(at_s, by_s) if at_s is not None and after_s < at_s <= by_s + 1.0 else None


class SiteContact(NamedTuple):
    """What a contact has shown to the siblings of its object (`policies.validation.siblings`)."""

    previous_s: float
    """When the variant was observed before."""
    changed_s: float | None
    """The exact time of the change found since; None if there was none."""


@dataclass(frozen=True, slots=True)
class VariantState:
    """The last observation of one variant."""

    t_s: float
    fingerprint: Fingerprint
    evidence: ContentEvidence | None = None
    """The clients to which it was sent; None if it had a validator."""


def clock_difference_s(ahead_s: float | None) -> float:
    """Return by how much the origin's clock counts as ahead; 0 if it is unknown, or too small or large to count."""
    return ahead_s if ahead_s is not None and LEAST_DIFFERENCE_S <= abs(ahead_s) <= MOST_DIFFERENCE_S else 0.0


def compared(before: VariantState | None, observation: Observation) -> tuple[bool | None, Update | None]:
    """Return whether the variant changed since it was last observed, and the update."""
    if observation.fingerprint is None:
        return False, None
    if before is None:
        return None, None
    same = before.fingerprint.same_content(observation.fingerprint)
    if same is None:
        return None, None
    if same:
        return False, None
    return True, _dated(before, observation, observation.fingerprint.last_modified_s)


def site_contact(before: VariantState | None, observation: Observation) -> SiteContact | None:
    changed, update = compared(before, observation)
    if before is None or changed is None or (update is not None and not update.exact):
        return None
    return SiteContact(before.t_s, None if update is None else update.by_s)


def _dated(before: VariantState, observation: Observation, modified_s: float | None) -> Update:
    """Return the update between two observations: at the Last-Modified if that is plausible, else within the interval.

    Without Last-Modified at the time that a signal has announced, if it lies between them.

    As Last-Modified counts whole seconds, it may be up to a second before the last contact. It is implausible if it is
    in the future, not later than the one before, or older than the last contact. It is by the clock of the origin: if
    that is ahead, it is set back by as much; if it is behind, the times of contacts are by that clock too.
    """
    previous_s = before.fingerprint.last_modified_s
    if modified_s is not None and (previous_s is None or modified_s > previous_s):
        dated_s = modified_s - max(clock_difference_s(observation.clock_ahead_s), 0.0)
        if before.t_s - 1.0 < dated_s <= observation.t_s:
            return Update(dated_s, dated_s)
    announced_s = observation.announced_within(before.t_s, observation.t_s)
    if modified_s is None and announced_s is not None:
        return Update(announced_s, announced_s)
    return Update(before.t_s, observation.t_s)
