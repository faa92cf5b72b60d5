"""The decision on storing a response that has neither validator nor lifetime: by what was learnt of its object.

Such a response shows a change only by its content. So it is stored after several contacts have returned the same: a
static file for all clients; other content once it has stayed the same for at least the lifetime that it gets, for the
client that fetched it or, if it was sent to enough of them, for all.
"""

from dataclasses import replace
from enum import StrEnum

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.response import Relay, shows_object, variant_of_draft
from bestbefore.addon.engine.unvalidated.evidence import CLIENTS_NEEDED, UNSHARED_S, ContentEvidence, Delivery
from bestbefore.addon.engine.unvalidated.static_types import is_static
from bestbefore.addon.rfc9111.caching.freshness import heuristics_allowed
from bestbefore.addon.rfc9111.caching.personal import may_use_learned_freshness
from bestbefore.addon.rfc9111.caching.storing import NoStore
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

REPEATS_STATIC = 1
"""How many further contacts must return the same static file before it is stored."""
REPEATS = 2
"""The same for other content."""


class Learnt(StrEnum):
    """The result, for the log: whether the response is stored, or what is missing."""

    FOR_ALL = "learned"
    FOR_CLIENT = "learned-for-client"
    """It is stored for the client that fetched it."""
    LEARNING = "learning"
    """More contacts must return the same content."""
    CHANGES = "learning-changes"
    """It changes too often."""
    COOKIE = "learning-cookie"
    """The request has Cookie or credentials, so that a learned lifetime does not apply."""
    OFF = "learning-off"
    """`learn_without_validator` is false."""
    FORBIDDEN = "no-validator"
    """The origin gave a lifetime of 0, or no-cache, which cannot be fulfilled without a validator."""

    @property
    def stores(self) -> bool:
        """Whether the response is stored."""
        return self in (Learnt.FOR_ALL, Learnt.FOR_CLIENT)


def delivery_of(request: Request, relay: Relay, rule: DomainRule, client: str) -> Delivery | None:
    """Return the delivery of a response, if it may become evidence: it has neither validator nor lifetime."""
    draft = relay.draft
    if draft is None or draft.has_validator or rule.learn_without_validator == "always":
        return None
    if relay.why_not_stored not in ("", NoStore.NEVER_USABLE) or not shows_object(draft.head.status):
        return None
    if draft.lifetime is not None and draft.lifetime.lifetime_s > 0 and not draft.cache_control.no_cache:
        return None
    anonymous = "cookie" not in request.fields and "authorization" not in request.fields
    off = rule.learn_without_validator == "never"
    return Delivery(
        "" if off else client,
        anonymous,
        is_static(draft.head, request.target.path),
        bar=_bar(request, draft, off=off),
    )


def _bar(request: Request, draft: Copy, *, off: bool) -> str:
    directives = draft.cache_control
    if draft.lifetime is not None or directives.no_cache or not heuristics_allowed(draft.head.status, directives):
        return Learnt.FORBIDDEN
    if off:
        return Learnt.OFF
    return "" if may_use_learned_freshness(request, draft) else Learnt.COOKIE


def repeats_missing(evidence: ContentEvidence) -> int:
    """Return how many more contacts must return the present content before it may be stored."""
    return max(_needed(evidence) - evidence.repeats, 0)


def lifetime_of(copy: Copy) -> float:
    """Return the lifetime that the policy has given to the copy, s; 0 without a verdict."""
    return 0.0 if copy.expiry_s is None else copy.expiry_s - copy.current_s


def prospect(relay: Relay, draft: Copy, delivery: Delivery, record: Record | None) -> Relay:
    """Return the decision on a response with what is missing for storing it, before its content is known.

    Its content is collected if the response may be stored after the same content as before.
    """
    relay = replace(relay, delivery=delivery, detail=delivery.bar or Learnt.LEARNING)
    known = None if record is None else record.seen.get(variant_of_draft(draft))
    evidence = None if known is None else known.evidence
    if record is None or evidence is None or delivery.bar or repeats_missing(evidence) > 1:
        return relay
    went_to_enough = delivery.is_static or len(evidence.clients) >= CLIENTS_NEEDED
    return replace(relay, collects=True, shares=went_to_enough and not is_unshared(record, draft.current_s))


def learnt_of(record: Record, copy: Copy, lifetime_s: float) -> Learnt:
    """Return what follows from the record, after a contact, for the copy made from it.

    `lifetime_s`: the one that the policy gives to the copy.
    """
    now_s = copy.current_s
    state = record.seen.get(variant_of_draft(copy))
    evidence = None if state is None else state.evidence
    if evidence is None:
        return Learnt.LEARNING
    if evidence.bar:
        return Learnt(evidence.bar)
    if copy.is_feed and has_dated_items(record):
        return Learnt.FOR_ALL
    if repeats_missing(evidence):
        return Learnt.CHANGES if record.n_updates > max(record.unchanged, 1) else Learnt.LEARNING
    if lifetime_s <= 0:
        return Learnt.CHANGES
    if evidence.is_static and not is_unshared(record, now_s):
        return Learnt.FOR_ALL
    if record.n_updates > record.unchanged:
        return Learnt.CHANGES
    if now_s - evidence.since_s < lifetime_s:
        return Learnt.LEARNING
    if len(evidence.clients) >= CLIENTS_NEEDED and not is_unshared(record, now_s):
        return Learnt.FOR_ALL
    return Learnt.FOR_CLIENT if evidence.last_client else Learnt.LEARNING


def has_dated_items(record: Record) -> bool:
    """Whether the object is a feed whose items tell its history from before the first contact."""
    return record.feed is not None and not record.feed.away and record.n_updates > 0


def is_unshared(record: Record, now_s: float) -> bool:
    """Whether clients were lately sent different content."""
    return record.differed_s is not None and now_s < record.differed_s + UNSHARED_S


def _needed(evidence: ContentEvidence) -> int:
    return REPEATS_STATIC if evidence.is_static else REPEATS


def stored_as(copy: Copy, learnt: Learnt, client: str) -> Copy:
    """Return the copy to store, for all clients or for the one that fetched it."""
    return replace(copy, learned=True, client=client if learnt is Learnt.FOR_CLIENT else "")
