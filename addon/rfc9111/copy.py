"""A copy: a stored response, and what was known when it was stored or last validated."""

from dataclasses import dataclass, field, replace
from typing import Self

from bestbefore.addon.rfc9111.caching.age import date_value_s
from bestbefore.addon.rfc9111.caching.freshness import Lifetime, explicit_lifetime
from bestbefore.addon.rfc9111.fields.dates import date_field
from bestbefore.addon.rfc9111.fields.directives import CacheControl, of_response
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag, etag_field
from bestbefore.addon.rfc9111.fields.targeted import governing
from bestbefore.addon.rfc9111.message import Head

Selecting = tuple[tuple[str, str | None], ...]
"""The lower-case name of each request field that selects the response, in the order of the names, and its normalised
value in the request that fetched it; None where that request did not bear the field."""


@dataclass(frozen=True, slots=True)
class BodyRef:
    """A reference to the content, which is kept elsewhere, by its digest."""

    digest: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A complete response to GET. Times are Unix seconds.

    What each hit asks of the fields is parsed once, when the record is made; these attributes follow from the rest.
    """

    url: str
    head: Head
    """As it is served, less what every hop sets itself (connection fields, Age). It always bears a valid Date."""
    body: BodyRef
    request_time_s: float
    """When the request of the exchange was sent that stored the copy or last validated it."""
    response_time_s: float
    """When its response was received."""
    current_s: float
    """t: the moment at which the copy was current, its receipt less the corrected initial age."""
    stored_s: float
    """When the request was sent that brought the content; validation does not change it. What was invalidated after
    this moment may be older than the change, though it came later."""
    selecting: Selecting = ()
    partition: str = ""
    personal: str = ""
    """The hash of the Cookie that a request must bear to be answered with this copy; empty if any request may."""
    fetched_with_cookie: bool = False
    fetched_with_authorization: bool = False
    targeted: tuple[str, ...] = ()
    """The lower-case names of the targeted fields that are obeyed, if there are such (RFC 9213)."""
    local: bool = False
    """It came from an address that only this machine means: it is not for clients that may not reach that."""
    range: str = ""
    """The range of private addresses that it came from, as the shell names them; empty for the public ones."""
    own_etag: str = ""
    """The opaque part, with its quotes, of a weak entity tag of ours, where the origin has no validator."""
    is_feed: bool = False
    for_good: bool = False
    """It says that what was a feed has moved or is gone for good: believed for a while also without a validator."""
    outdated: bool = False
    """A HEAD has shown that the origin now has something else (RFC 9111 4.3.5)."""
    expiry_s: float | None = None
    """What the policy said at `current_s`: the first moment at which the copy must be validated. None: nothing."""
    reason: str = ""
    """The policy's word for why."""
    rule: str = ""
    """Names the rule that gave the verdict: if the object's rule is another now, the verdict is out of date."""

    cache_control: CacheControl = field(init=False, repr=False, compare=False)
    date_s: float = field(init=False, repr=False, compare=False)
    lifetime: Lifetime | None = field(init=False, repr=False, compare=False)
    """The origin's explicit lifetime."""
    etag: EntityTag | None = field(init=False, repr=False, compare=False)
    """The origin's."""
    shown_etag: EntityTag | None = field(init=False, repr=False, compare=False)
    """What clients see: the origin's, or ours."""
    last_modified_s: float | None = field(init=False, repr=False, compare=False)
    sets_cookie: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields, received_s = self.head.fields, self.response_time_s
        steering = governing(fields, self.targeted)
        cache_control, date_s = of_response(steering), date_value_s(fields, received_s)
        etag = etag_field(fields)
        derived = {
            "cache_control": cache_control,
            "date_s": date_s,
            "lifetime": explicit_lifetime(cache_control, steering, date_s, received_s),
            "etag": etag,
            "shown_etag": EntityTag(self.own_etag, weak=True) if etag is None and self.own_etag else etag,
            "last_modified_s": date_field(fields, "last-modified", received_s),
            "sets_cookie": "set-cookie" in fields,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def has_validator(self) -> bool:
        """Whether the origin can be asked if the copy is still current."""
        return self.etag is not None or self.last_modified_s is not None

    @property
    def http_expiry_s(self) -> float | None:
        """When the origin's explicit lifetime ends; None if it gave none."""
        return None if self.lifetime is None else self.current_s + self.lifetime.lifetime_s

    def age_s(self, now_s: float) -> float:
        """current_age of RFC 9111 4.2.3; at least the initial age also where the clock was set back."""
        return max(now_s, self.response_time_s) - self.current_s

    def was_received_after(self, other: Self, now_s: float) -> bool:
        """Whether it came later than another; not if it seems to be from the future, as the clock has been set back."""
        return other.response_time_s < self.response_time_s <= now_s

    def with_verdict(self, expiry_s: float | None, reason: str, rule: str) -> Self:
        """The same copy with what the policy says of it."""
        return replace(self, expiry_s=expiry_s, reason=reason, rule=rule)
