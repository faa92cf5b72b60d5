"""The decision on a response of the origin: what is forwarded, stored and learnt."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bestbefore.addon.engine import piggyback
from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.piggyback import ReportedUpdates
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.engine.site import Site
from bestbefore.addon.engine.unvalidated.evidence import Delivery
from bestbefore.addon.rfc9111.caching.age import clock_ahead_s
from bestbefore.addon.rfc9111.caching.freshness import PERMANENT
from bestbefore.addon.rfc9111.caching.reuse import Reuse, without_origin
from bestbefore.addon.rfc9111.caching.storing import NoStore, copy_of, is_truncated, why_not_store
from bestbefore.addon.rfc9111.caching.vary import variant_key
from bestbefore.addon.rfc9111.conditional.parts import as_received, partition_of, place, strong_validator
from bestbefore.addon.rfc9111.conditional.validation import confirmed, freshened, updated
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUPS
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import protected_in_response
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import DomainRule
from bestbefore.policies.units import DAY_S

TOO_LARGE = "too-large"
TOO_MANY = "too-many-objects"
"""The reason if a response is not stored because its domain has had too many new objects today."""
BACKGROUND_ERROR = "background-error"
"""The reason if an error in response to a prefetch is not stored: clients might not get it."""
GONE = frozenset((404, 410))
NOT_ABOUT_OBJECT = frozenset((407, 408, 421, 425, 429))
"""Errors about the client, connection or rate, not the object (RFC 9110 15.5.8, 15.5.9, 15.5.20, RFC 8470, RFC
6585)."""
PERMANENT_S = DAY_S
"""The lifetime of a permanent redirect or 410 of a feed."""
NO_BODY = BodyRef("", 0)
_SIZE_DIGITS_AT_MOST = 18


@dataclass(frozen=True, slots=True)
class Times:
    """When a request to an origin was sent and its response received, in policy time."""

    request_s: float
    response_s: float


class Keep(StrEnum):
    """What becomes of a copy after a 304."""

    RENEWED = "renewed"
    """It is kept, with the fields of the 304."""
    UNCHANGED = "as-it-was"
    """The 304 names other content: it must not renew the copy (RFC 9111 4.3.4), and the next request validates
    again."""
    DROPPED = "dropped"
    """The renewed fields forbid storing it."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The copy is current: serve it, with the renewed fields."""

    copy: Copy
    others: tuple[Copy, ...]
    """Further copies that the same 304 confirms."""
    keep: Keep
    reported: ReportedUpdates | None


@dataclass(frozen=True, slots=True)
class AskUnconditionally:
    """The 304 matches no stored copy: send the request again without conditions."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The origin failed; a copy may be served instead."""

    copy: Copy
    reuse: Reuse


@dataclass(frozen=True, slots=True)
class Relay:
    """Forward the response as it arrives."""

    head: Head
    why_not_stored: str = ""
    """The reason; empty: it is stored once its content is complete."""
    draft: Copy | None = None
    """The copy to complete with the content: to store it or, if it may not be stored, to learn from it (if it shows the
    object: `shows_object`)."""
    reported: ReportedUpdates | None = None
    replaces: tuple[Copy, ...] = ()
    """Copies that this response to a HEAD renews."""
    delivery: Delivery | None = None
    """What a response without validator shows once its content is known."""
    collects: bool = False
    """Whether the content is collected although it is not known yet whether it may be stored."""
    shares: bool = False
    """Whether it will be stored for all clients if its content is the same as before."""
    detail: str = ""
    """What is missing for storing it, more exactly than `why_not_stored`."""
    drops: bool = False
    """Whether the stored copies of the URL are removed."""


def on_response(
    ask: Ask, head: Head, times: Times, rule: DomainRule, site: Site
) -> Confirmed | AskUnconditionally | Fallback | Relay:
    """Decide on the head of the origin's response."""
    reported = piggyback.read(head.fields, times.response_s) if rule.trust_piggyback else None
    head = _without_history(head)
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
    without_validator = rule.learn_without_validator == "always" or bool(rule.stale_if_down_s)
    if head.status == 206 and ask.chosen is None:
        return _on_part(ask, head, times, site, without_validator=without_validator)
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
    if head.status == 304 and _confirms_client_validator(ask.request, head, times.response_s, site):
        return Relay(head, why or "", draft, reported)
    return Relay(head, why or "", drops=supersedes and why is not None and not why.lies_in_the_request)


def _on_part(ask: Ask, head: Head, times: Times, site: Site, *, without_validator: bool) -> Relay:
    """Decide on a 206: it is stored if it is one part of a content of known size, and the whole might be stored."""
    where = place(head)
    if where is None or "range" not in ask.request.fields:
        return Relay(head, NoStore.PARTIAL)
    length = where.span.end - where.span.start
    is_alone = strong_validator(head.fields) is None
    if not is_alone and is_truncated(head.fields, length):  # nothing is known of its place
        return Relay(head, NoStore.PARTIAL)
    why = why_not_store(
        ask.request, replace(head, status=200), times.response_s,
        targeted=site.targeted, without_validator=without_validator,
    )
    if why is not None or length > site.stored_at_most:
        return Relay(head, why or TOO_LARGE)
    draft = copy_of(
        ask.request, head, BodyRef("", length),
        request_time_s=times.request_s, response_time_s=times.response_s, salt=site.salt, targeted=site.targeted,
    )
    asked_range = (ask.request.fields.get("range") or "") if is_alone else ""
    return Relay(head, draft=replace(draft, partition=partition_of(ask.request.partition), asked_range=asked_range))


def outcome_of(ask: Ask, relay: Relay) -> Outcome:
    """Return the outcome of a request whose response is forwarded.

    For a validation: updated, passed on, or (for a HEAD) validated.
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
    """Whether the response is stored or learnt from although there is no copy of its object."""
    return relay.draft is not None and ask.fwd is Fwd.URI_MISS


def not_admitted(relay: Relay) -> Relay:
    """Return the decision for a new object that is not admitted: forward it, neither store it nor learn from it."""
    return Relay(relay.head, why_not_stored=TOO_MANY)


def shows_object(status: int) -> bool:
    """Whether a response with this status shows a state of the object. Others are not learnt from, and replace no copy.

    All are forwarded: only a 5xx may be replaced by a stale copy (RFC 9111 4.3.3). With an explicit lifetime they are
    stored as any other, except those that `storing` forbids.
    """
    return status < 500 and status not in NOT_ABOUT_OBJECT


def on_failure(ask: Ask, rule: DomainRule, now_s: float) -> Fallback | None:
    """Return the copy to serve stale after a failure or 5xx of the origin; None if none may be."""
    if ask.chosen is None:
        return None
    asked = of_request(ask.request.fields, honour=rule.honour_client_cc)
    reuse = without_origin(ask.request, asked, ask.chosen, now_s, rule)
    return None if reuse is None else Fallback(ask.chosen, reuse)


def _on_not_modified(
    ask: Ask, head: Head, times: Times, site: Site, reported: ReportedUpdates | None
) -> Confirmed | AskUnconditionally:
    found = confirmed(head, ask.candidates)
    if not found:
        # The origin confirms a copy, but under another validator. With a single candidate, that one is meant.
        only = ask.candidates[0] if len(ask.candidates) == 1 else None
        return AskUnconditionally() if only is None else Confirmed(only, (), Keep.UNCHANGED, reported)
    renewed = [
        updated(
            _in_time(copy, times.response_s), ask.request, head,
            request_time_s=times.request_s, response_time_s=times.response_s, salt=site.salt,
        )
        for copy in found
    ]
    serving = next((new for new, old in zip(renewed, found, strict=True) if old is ask.chosen), renewed[0])
    why = why_not_store(ask.request, serving.head, times.response_s, targeted=serving.targeted, without_validator=True)
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
    """Limit the copy's `stored_s` to now: one from a clock that was ahead would escape invalidation."""
    return copy if copy.stored_s <= now_s else replace(copy, stored_s=now_s)


def _is_too_large(head: Head, site: Site) -> bool:
    """Whether the announced content is larger than the limit for storing."""
    digits = (head.fields.first("content-length") or "").lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        return False
    # Check the number of digits first: Python refuses to convert thousands of digits.
    return len(digits) > _SIZE_DIGITS_AT_MOST or int(digits) > site.stored_at_most


def _confirms_client_validator(request: Request, head: Head, now_s: float, site: Site) -> bool:
    """Whether a 304 to the client's own validator can be learnt from, like a 200 with that validator."""
    return why_not_store(request, replace(head, status=200), now_s, targeted=site.targeted) is None


def completed(relay: Relay, body: BodyRef, *, complete: bool) -> Copy | None:
    """Return the copy to store, with its content; None if it may not be stored (truncated, for example).

    Of a response without validator it depends on what its content shows (`without_validator.learnt_of`).
    """
    barred = relay.why_not_stored and (relay.delivery is None or relay.delivery.bar)
    if relay.draft is None or barred or not complete or is_truncated(relay.head.fields, body.size):
        return None
    draft = as_received(relay.draft, body.size) if relay.draft.head.status == 206 else relay.draft
    if draft is None:
        return None
    fields, length = draft.head.fields, str(body.size)
    if draft.head.status == 204 or fields.values("content-length") == (length,):
        return draft.changed(body=body)
    fields = fields.without({"content-length"}).added(("Content-Length", length))
    return draft.changed(body=body, head=replace(draft.head, fields=fields))


def is_permanent(head: Head) -> bool:
    """Whether a response is permanent, such as a 301; `remembered` decides on it."""
    return head.status in PERMANENT


def remembered(relay: Relay, *, was_feed: bool) -> Relay:
    """Store a permanent response to a feed's URL, even without lifetime and validator: feed readers repeat requests.

    So a permanent redirect or 410 causes one contact a day (`PERMANENT_S`). It applies only if the URL was a feed
    before.
    """
    if not was_feed or relay.draft is None or not is_permanent(relay.head):
        return relay
    why = "" if relay.why_not_stored == NoStore.NEVER_USABLE else relay.why_not_stored
    return replace(relay, why_not_stored=why, draft=replace(relay.draft, for_good=True))


def observed(
    request: Request,
    copy: Copy,
    digest: str | None,
    rule: DomainRule,
    reported: ReportedUpdates | None,
    listing: Listing | None = None,
    delivery: Delivery | None = None,
) -> Observation:
    """Return the observation by a response; `copy` is made from it, stored or not, or is the one that it confirmed.

    `digest`: of its content; empty if there was none (a 304 to the client's own validator); None: a 304 to the proxy's
    own. `listing`: the items of a feed.
    """
    return Observation(
        url=request.target.url,
        t_s=copy.current_s,
        variant=variant_of_draft(copy),
        fingerprint=None if digest is None else _fingerprint(copy, digest),
        delivery=delivery,
        counted=copy.has_validator or rule.learn_without_validator == "always",
        reported_s=() if reported is None else reported.times_s,
        reported_since_s=None if reported is None else reported.since_s,
        reported_within=() if reported is None else reported.within,
        reported_unseen=() if reported is None else reported.unseen,
        group_pattern=None if reported is None else reported.pattern,
        listing=listing,
        cache_group=copy.groups[0] if rule.group == CACHE_GROUPS and copy.groups else "",
        clock_ahead_s=clock_ahead_s(copy.head.fields, copy.response_time_s),
    )


def _without_history(head: Head) -> Head:
    """Return the head without the update history that an upstream proxy sends."""
    fields = head.fields.without(piggyback.RESPONSE_FIELDS)
    return head if fields is head.fields else replace(head, fields=fields)


def variant_of_draft(copy: Copy) -> str:
    """Return the name of the variant in the record of the object; empty without Vary."""
    return variant_key(replace(copy, client="")) if copy.selecting or copy.personal else ""


def _fingerprint(copy: Copy, digest: str) -> Fingerprint:
    location = copy.head.fields.first("location")
    return Fingerprint(
        etag=str(copy.etag) if copy.etag is not None and not copy.etag.weak else "",
        body=f"{digest} {location}" if digest and location else digest,
        last_modified_s=copy.last_modified_s,
        gone=copy.head.status in GONE,
    )
