"""The origin has answered: what is passed on, what is kept, what is learnt."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bestbefore.addon.engine import piggyback
from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.piggyback import Reported
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.freshness import PERMANENT
from bestbefore.addon.rfc9111.caching.reuse import Reuse, without_origin
from bestbefore.addon.rfc9111.caching.storing import NoStore, copy_of, is_truncated, why_not_store
from bestbefore.addon.rfc9111.caching.vary import variant_key
from bestbefore.addon.rfc9111.conditional.validation import confirmed, freshened, updated
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import protected_in_response
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import DomainRule
from bestbefore.policies.units import DAY_S

TOO_LARGE = "too-large"
TOO_MANY = "too-many-objects"
"""Why an answer is not stored: its domain has had its share of new objects today."""
BACKGROUND_ERROR = "background-error"
"""Why an error in answer to a prefetch is not stored: it may be about us rather than about what clients get."""
GONE = frozenset((404, 410))
BESIDE_THE_OBJECT = frozenset((407, 408, 421, 425, 429))
"""Errors about who asks, by which way or how often (RFC 9110 15.5.8, 15.5.9 and 15.5.20, RFC 8470 5.2, RFC 6585 4)."""
PERMANENT_S = DAY_S
"""For how long what the origin of a feed says for good is believed without asking again."""
NO_BODY = BodyRef("", 0)
_SIZE_DIGITS_AT_MOST = 18


@dataclass(frozen=True, slots=True)
class Times:
    """The times of one exchange with an origin, in policy time."""

    request_s: float
    response_s: float


class Keep(StrEnum):
    """The fate of a copy after a 304."""

    RENEWED = "renewed"
    """It is kept with the fields of the answer."""
    AS_IT_WAS = "as-it-was"
    """The answer names other content: it must not renew the copy (RFC 9111 4.3.4), and the next request asks again."""
    DROPPED = "dropped"
    """The renewed fields forbid to keep it."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The copy is current: serve it, with the fields that the origin has renewed."""

    copy: Copy
    others: tuple[Copy, ...]
    """Further copies that the same answer is about."""
    keep: Keep
    reported: Reported | None


@dataclass(frozen=True, slots=True)
class Again:
    """The answer is about no copy that we have: ask again without conditions."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The origin failed; a copy may be served instead."""

    copy: Copy
    reuse: Reuse


@dataclass(frozen=True, slots=True)
class Relay:
    """Pass the response on as it comes."""

    head: Head
    why_not_stored: str = ""
    """Empty: it will be stored once its content is complete."""
    draft: Copy | None = None
    """What the content completes: a copy to store or, if it may not be stored, an exchange that still teaches (if what
    it brings is of the object at all: `shows_object`)."""
    reported: Reported | None = None
    replaces: tuple[Copy, ...] = ()
    """Copies that this answer renews without content (a HEAD)."""
    drops: bool = False
    """Whether the copies of the URL are of no use any more."""


def on_response(
    ask: Ask, head: Head, times: Times, rule: DomainRule, site: Site
) -> Confirmed | Again | Fallback | Relay:
    """Decide on the head of the origin's answer to a question."""
    reported = piggyback.read(head.fields, times.response_s) if rule.trust_piggyback else None
    head = replace(head, fields=head.fields.without({piggyback.UPDATES.lower()}))
    if ask.bypass:
        return Relay(head, why_not_stored=NoStore.REQUEST)
    if ask.in_background and head.status >= 400 and head.status not in GONE:
        return Relay(head, why_not_stored=BACKGROUND_ERROR)
    if head.status == 304 and ask.candidates:
        return _on_not_modified(ask, head, times, site, reported)
    if head.status >= 500:
        fallback = on_failure(ask, rule, times.response_s)
        if fallback is not None:
            return fallback
    if ask.request.method == "HEAD":
        return _on_head(ask, head, times, site)
    without_validator = rule.learn_without_validator or bool(rule.stale_if_down_s)
    why = why_not_store(
        ask.request, head, times.response_s, targeted=site.targeted, without_validator=without_validator
    )
    draft = copy_of(
        ask.request, head, NO_BODY,
        request_time_s=times.request_s, response_time_s=times.response_s, salt=site.salt, targeted=site.targeted,
    )
    if "content-length" not in head.fields:
        draft = replace(draft, head=replace(draft.head, fields=draft.head.fields.without({"content-length"})))
    supersedes = ask.chosen is not None and shows_object(head.status)
    if why is None and _is_too_large(head, site):
        return Relay(head, TOO_LARGE, draft, reported, drops=supersedes)
    if why in (None, NoStore.NEVER_USABLE):
        return Relay(head, why or "", draft, reported)
    if head.status == 304 and _teaches_by_clients_validator(ask.request, head, times.response_s, site):
        return Relay(head, why or "", draft, reported)
    return Relay(head, why or "", drops=supersedes and why is not None and not why.lies_in_the_request)


def outcome_of(ask: Ask, relay: Relay) -> Outcome:
    """Return the outcome of a request whose response is passed on.

    Of a validation: another state of the object, no word about it, or that the copy is current (the answer to a HEAD).
    """
    if ask.bypass:
        return Outcome.BYPASS
    if ask.chosen is None:
        return Outcome.MISS
    if relay.replaces and not any(copy.outdated for copy in relay.replaces):
        return Outcome.VALIDATED
    status = relay.head.status
    is_state = status < 300 or status in GONE or status == ask.chosen.head.status or not relay.why_not_stored
    return Outcome.UPDATED if is_state and shows_object(status) else Outcome.PASSED_ON


def is_of_new_object(ask: Ask, relay: Relay) -> bool:
    """Whether keeping, or learning from, this answer would bring an object into the store of which it has no copy."""
    return relay.draft is not None and ask.fwd is Fwd.URI_MISS


def not_admitted(relay: Relay) -> Relay:
    """The answer to one new object too many: it passes, and is neither kept nor learnt from."""
    return Relay(relay.head, why_not_stored=TOO_MANY)


def shows_object(status: int) -> bool:
    """Whether an answer shows a state of the object. One that does not teaches nothing, and ends no copy.

    It is passed on all the same: only a 5xx may be treated as if there were no answer (RFC 9111 4.3.3). And where the
    origin gives it a lifetime it is stored as any other, but for those that never are (`storing`).
    """
    return status < 500 and status not in BESIDE_THE_OBJECT


def on_failure(ask: Ask, rule: DomainRule, now_s: float) -> Fallback | None:
    """The copy to serve when there is no answer from the origin, or only a 5xx; None if there is none that may."""
    if ask.chosen is None:
        return None
    asked = of_request(ask.request.fields, honour=rule.honour_client_cc)
    reuse = without_origin(ask.request, asked, ask.chosen, now_s, rule)
    return None if reuse is None else Fallback(ask.chosen, reuse)


def _on_not_modified(ask: Ask, head: Head, times: Times, site: Site, reported: Reported | None) -> Confirmed | Again:
    found = confirmed(head, ask.candidates)
    if not found:
        # The origin says that what we have is current, and calls it by another name. Of one copy that can be meant.
        only = ask.candidates[0] if len(ask.candidates) == 1 else None
        return Again() if only is None else Confirmed(only, (), Keep.AS_IT_WAS, reported)
    renewed = [
        updated(
            _in_time(copy, times.response_s), ask.request, head,
            request_time_s=times.request_s, response_time_s=times.response_s, salt=site.salt,
        )
        for copy in found
    ]
    serving = next((new for new, old in zip(renewed, found, strict=True) if old is ask.chosen), renewed[0])
    why = why_not_store(
        ask.request, serving.head, times.response_s, targeted=serving.targeted, without_validator=True
    )
    may_stay = (why is None or why.lies_in_the_request) and not protected_in_response(head.fields)
    keep = Keep.RENEWED if may_stay else Keep.DROPPED
    return Confirmed(serving, tuple(copy for copy in renewed if copy is not serving), keep, reported)


def _on_head(ask: Ask, head: Head, times: Times, site: Site) -> Relay:
    if ask.chosen is None or head.status != 200 or protected_in_response(head.fields):
        return Relay(head, why_not_stored=NoStore.METHOD)
    renewed = freshened(
        _in_time(ask.chosen, times.response_s), ask.request, head,
        request_time_s=times.request_s, response_time_s=times.response_s, salt=site.salt,
    )
    return Relay(head, why_not_stored=NoStore.METHOD, replaces=(renewed,))


def _in_time(copy: Copy, now_s: float) -> Copy:
    """The copy, stored no later than now. One from a clock that was ahead would outlive what invalidates it."""
    return copy if copy.stored_s <= now_s else replace(copy, stored_s=now_s)


def _is_too_large(head: Head, site: Site) -> bool:
    """Whether the content is announced to be larger than what is stored."""
    digits = (head.fields.first("content-length") or "").lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        return False
    # Length first: Python refuses to convert numbers of thousands of digits.
    return len(digits) > _SIZE_DIGITS_AT_MOST or int(digits) > site.max_cached_body


def _teaches_by_clients_validator(request: Request, head: Head, now_s: float, site: Site) -> bool:
    """A 304 to the client's own validator counts as a 200 that bears it."""
    return why_not_store(request, replace(head, status=200), now_s, targeted=site.targeted) is None


def completed(relay: Relay, body: BodyRef, *, complete: bool) -> Copy | None:
    """The copy to store now that the content is there; None if it may not be (cut short, say)."""
    if relay.draft is None or relay.why_not_stored or not complete or is_truncated(relay.head.fields, body.size):
        return None
    fields = relay.draft.head.fields
    if relay.draft.head.status != 204:
        fields = fields.without({"content-length"}).added(("Content-Length", str(body.size)))
    return replace(relay.draft, body=body, head=replace(relay.draft.head, fields=fields))


def is_for_good(head: Head) -> bool:
    """Whether a response says something for good: `remembered` decides what becomes of it."""
    return head.status in PERMANENT


def remembered(relay: Relay, *, was_feed: bool) -> Relay:
    """Keep what a feed's origin says for good, though it has neither lifetime nor validator: readers ask for years.

    So a permanent redirect, or that it is gone, costs a contact a day (`PERMANENT_S`). Without the feed having been
    seen there before it is as with any other object.
    """
    if not was_feed or relay.draft is None or not is_for_good(relay.head):
        return relay
    why = "" if relay.why_not_stored == NoStore.NEVER_USABLE else relay.why_not_stored
    return replace(relay, why_not_stored=why, draft=replace(relay.draft, for_good=True))


def observed(
    request: Request,
    copy: Copy,
    digest: str,
    rule: DomainRule,
    reported: Reported | None,
    listing: Listing | None = None,
) -> Observation:
    """Return what an answer with content shows; `copy` is the one made of it, stored or not.

    `digest` is that of its content, empty if there was none (a 304 to the client's own validator); `listing` the items
    of a feed.
    """
    location = copy.head.fields.first("location")
    fingerprint = Fingerprint(
        etag=str(copy.etag) if copy.etag is not None and not copy.etag.weak else "",
        body=f"{digest} {location}" if digest and location else digest,
        last_modified_s=copy.last_modified_s,
        gone=copy.head.status in GONE,
    )
    return replace(_observation(request, copy, fingerprint, rule, reported), listing=listing)


def observed_unchanged(request: Request, copy: Copy, rule: DomainRule, reported: Reported | None) -> Observation:
    """Return what a 304 to our own validator shows."""
    return _observation(request, copy, None, rule, reported)


def _observation(
    request: Request, copy: Copy, fingerprint: Fingerprint | None, rule: DomainRule, reported: Reported | None
) -> Observation:
    return Observation(
        url=request.target.url,
        t_s=copy.current_s,
        variant=variant_key(copy) if copy.selecting or copy.personal else "",
        fingerprint=fingerprint,
        counted=copy.has_validator or rule.learn_without_validator,
        reported_s=() if reported is None else reported.times_s,
        reported_since_s=None if reported is None else reported.since_s,
    )
