"""Observations: what one contact with the origin shows of one object; `learning` makes histories of them."""

from dataclasses import dataclass, field

from bestbefore.addon.engine.listing import Listing


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A fingerprint: what identifies the content of one variant as it was seen at one moment."""

    etag: str = ""
    """The strong entity tag, quotes included; empty if there was none or a weak one."""
    body: str = ""
    """Digest of the content; empty if it was not collected (too large, or a 304 to the client's own validator)."""
    last_modified_s: float | None = None
    gone: bool = False
    """The answer was 404 or 410."""

    def same_content(self, later: "Fingerprint") -> bool | None:
        """Whether `later` shows the same content; None if the two have nothing in common to compare."""
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

    Applied twice, it counts once: what is not later than the last one of its object is dropped.
    """

    url: str
    t_s: float
    """The moment at which the response was current: receipt less the corrected initial age (RFC 9111 4.2.3)."""
    variant: str
    """Which variant was seen: the values of the request fields that Vary names; empty without Vary."""
    fingerprint: Fingerprint | None
    """None: a 304 to our own validator, the content is what it was at the last observation of this variant."""
    counted: bool = True
    """False: the object has shown no validator, and the rule does not learn without: it enters no group's counts."""
    reported_s: tuple[float, ...] = field(default=())
    """Updates that the origin itself lists (piggyback)."""
    reported_since_s: float | None = None
    """From when on that list is complete."""
    listing: Listing | None = None
    """The items, if the answer was a feed."""
