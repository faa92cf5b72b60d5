"""A copy: a stored response, with the results of its storing or last validation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, Self

from bestbefore.addon.rfc9111.caching.age import date_value_s
from bestbefore.addon.rfc9111.caching.freshness import Lifetime, explicit_lifetime
from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUPS, groups_named
from bestbefore.addon.rfc9111.fields.dates import date_field
from bestbefore.addon.rfc9111.fields.directives import CacheControl, of_response
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag, etag_field
from bestbefore.addon.rfc9111.fields.targeted import governing
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.policies.validation.machinery.control import CopyControl

Selecting = tuple[tuple[str, str | None], ...]
"""The lower-case names of the request fields that select the response, in order, with their normalised values in the
request that fetched it; None for an absent field."""


@dataclass(frozen=True, slots=True)
class BodyRef:
    """A reference to separately stored content, by its digest."""

    digest: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A complete response to GET, or one part of it (`conditional.parts`). Times are Unix seconds.

    Attributes that each hit needs are parsed from the fields once, when the copy is created.
    """

    url: str
    head: Head
    """The head as it is served, without the fields that every hop sets itself (connection fields, Age), with a valid
    Date."""
    body: BodyRef
    request_time_s: float
    """When the request was sent whose response stored the copy or last validated it."""
    response_time_s: float
    """When that response was received."""
    current_s: float
    """t: when the copy was current: the time of receipt minus the corrected initial age."""
    stored_s: float
    """When the request was sent whose response has the content; unchanged by validation. An invalidation after this
    time applies to the copy, even if the response arrived later."""
    selecting: Selecting = ()
    partition: str = ""
    personal: str = ""
    """The hash of the Cookie that a request must have to be answered with this copy; empty for any request."""
    fetched_with_cookie: bool = False
    fetched_with_authorization: bool = False
    targeted: tuple[str, ...] = ()
    """The lower-case names of the targeted fields that are obeyed (RFC 9213)."""
    local: bool = False
    """Whether it came from a loopback or link-local address: it is not for clients that may not reach these."""
    range: str = ""
    """The range of private addresses from which it came (`reach.range_of`); empty for a public address."""
    own_etag: str = ""
    """The opaque part, with quotes, of the proxy's own weak entity tag, if the origin sends no validator."""
    is_feed: bool = False
    for_good: bool = False
    """Whether it is the permanent redirect or 410 of a former feed, which has a lifetime even without a validator."""
    learned: bool = False
    """Whether enough was learnt of the object that it may have a learned lifetime without a validator."""
    client: str = ""
    """The hash of the client (`personal.client_hash`) that alone is answered with this copy; empty for any."""
    outdated: bool = False
    """Whether a HEAD has shown that the origin's content has changed (RFC 9111 4.3.5)."""
    expiry_s: float | None = None
    """The policy's expiry at `current_s`: the first moment at which the copy must be validated. None: no verdict."""
    reason: str = ""
    """The policy's reason for the expiry."""
    part_number: int = 0
    """The number of a part among the stored parts of its variant (`conditional.parts`); 0: a complete response."""
    asked_range: str = ""
    """The Range that fetched a part whose content is shorter than its Content-Range said; empty for all others."""
    covered: tuple[str, int] | None = None
    """The channel that brought the copy and reports its updates, and the place in it; None if none does."""
    sibling_chance: float = 1.0
    """The probability from which on a change of a sibling outdates the copy before its expiry; 1: never."""
    because: str = ""
    """The URL of the sibling because of whose change the copy was last validated early; empty: it was not."""
    control: CopyControl | None = None
    """What the control of a stale rate needs of it; None: its expiry does not depend on a controlled price."""
    control_group: str = ""
    """The group in which the price is controlled (`Store.stale`)."""
    rule: str = ""
    """The key of the rule whose policy gave the verdict: if the object's rule has another, the verdict is outdated."""

    cache_control: CacheControl = field(init=False, repr=False, compare=False)
    date_s: float = field(init=False, repr=False, compare=False)
    lifetime: Lifetime | None = field(init=False, repr=False, compare=False)
    """The origin's explicit lifetime."""
    etag: EntityTag | None = field(init=False, repr=False, compare=False)
    """The origin's entity tag."""
    shown_etag: EntityTag | None = field(init=False, repr=False, compare=False)
    """The entity tag that clients see: the origin's, or the proxy's own."""
    last_modified_s: float | None = field(init=False, repr=False, compare=False)
    sets_cookie: bool = field(init=False, repr=False, compare=False)
    groups: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The keys of the groups of its origin with which it is invalidated (RFC 9875)."""

    def __post_init__(self) -> None:
        derived = _derived(self.head.fields, self.targeted, self.response_time_s, self.own_etag, self.url)
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def changed(self, **changes: Any) -> Self:
        """Return the copy with other attributes, as `dataclasses.replace` does, several times as fast.

        A response becomes a copy in five steps, of which only the first and the one that adds its length change what is
        parsed. Raises AttributeError for what is no attribute.
        """
        changed = object.__new__(type(self))
        for put, value in zip(_SETTERS, _values(self), strict=True):
            put(changed, value)
        for name, value in changes.items():
            object.__setattr__(changed, name, value)
        if not _PARSED.isdisjoint(changes):
            changed.__post_init__()
        return changed

    @property
    def has_validator(self) -> bool:
        """Whether the copy can be validated."""
        return self.etag is not None or self.last_modified_s is not None

    @property
    def http_expiry_s(self) -> float | None:
        """When the origin's explicit lifetime ends; None if it gave none."""
        return None if self.lifetime is None else self.current_s + self.lifetime.lifetime_s

    def age_s(self, now_s: float) -> float:
        """Return current_age of RFC 9111 4.2.3; at least the initial age, even if the clock was set back."""
        return max(now_s, self.response_time_s) - self.current_s

    def was_received_after(self, other: Self, now_s: float) -> bool:
        """Whether it was received later than another; False if it is from the future, as the clock was set back."""
        return other.response_time_s < self.response_time_s <= now_s

    def with_verdict(
        self, expiry_s: float | None, reason: str, rule: str, sibling_chance: float = 1.0
    ) -> Self:
        """Return the copy with a verdict of the policy."""
        return self.changed(
            expiry_s=expiry_s, reason=reason, rule=rule, sibling_chance=sibling_chance, control=None, control_group=""
        )

    def controlled(self, control: CopyControl, group: str) -> Self:
        """Return the copy with what the control of a stale rate needs of it."""
        return self.changed(control=control, control_group=group)


_PARSED = frozenset(("head", "targeted", "response_time_s", "own_etag", "url"))
"""The attributes from which others are parsed."""
_SETTERS = tuple(getattr(Copy, name).__set__ for name in Copy.__slots__)
_values = attrgetter(*Copy.__slots__)


@lru_cache(64)
def _derived(
    fields: Fields, targeted: tuple[str, ...], received_s: float, own_etag: str, url: str
) -> Mapping[str, Any]:
    """Return the attributes that are parsed from the fields. A response becomes a copy in five steps, with the same."""
    steering = governing(fields, targeted)
    cache_control, date_s = of_response(steering), date_value_s(fields, received_s)
    etag = etag_field(fields)
    return {
        "cache_control": cache_control,
        "date_s": date_s,
        "lifetime": explicit_lifetime(cache_control, steering, date_s, received_s),
        "etag": etag,
        "shown_etag": EntityTag(own_etag, weak=True) if etag is None and own_etag else etag,
        "last_modified_s": date_field(fields, "last-modified", received_s),
        "sets_cookie": "set-cookie" in fields,
        "groups": groups_named(fields, CACHE_GROUPS, url) if CACHE_GROUPS in fields else (),
    }
