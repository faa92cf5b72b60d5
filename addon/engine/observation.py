"""Observations: the result of one contact for the history of one object, to which `learning` applies it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.unvalidated.evidence import Delivery


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
    """Updates that the origin itself lists (piggyback)."""
    reported_since_s: float | None = None
    """From when on the list of reported updates is complete."""
    listing: Listing | None = None
    """The items, if the content is a feed."""
    delivery: Delivery | None = None
    """The client to which it was sent, if the response had no validator."""
    cache_group: str = ""
    """The group of copies in which the object is counted (`copy.groups`); empty: it is counted with its host."""


class SiteContact(NamedTuple):
    """What a contact has shown to the siblings of its object (`policies.validation.siblings`)."""

    previous_s: float
    """When the variant was observed before."""
    changed_s: float | None
    """The exact time of the change found since; None if there was none."""
