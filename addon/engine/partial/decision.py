"""The decision on a request for which there are only parts: serve them, or ask the origin for the rest of them.

Parts are never among the copies of an `Ask` (`chosen`, `candidates`): these are complete.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bestbefore.addon.engine.feed_delta import A_IM
from bestbefore.addon.engine.request import OFFLINE, ONLY_IF_CACHED, Ask, Decision, Refuse
from bestbefore.addon.engine.response import TOO_LARGE, Relay, Times, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.reuse import Action, Reuse, decide, without_origin
from bestbefore.addon.rfc9111.caching.storing import is_truncated
from bestbefore.addon.rfc9111.caching.vary import choose
from bestbefore.addon.rfc9111.conditional import ranges
from bestbefore.addon.rfc9111.conditional.parts import (
    Place,
    Rest,
    are_of_one_version,
    as_complete,
    as_part,
    combinable,
    missing,
    place,
    range_of,
    strong_validator,
    to_fetch,
)
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.conditional.validation import confirmed
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.connection import end_to_end, protected_in_response
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule

_CONDITIONS = frozenset(("range", "if-range", "if-none-match", "if-modified-since"))
_WITHOUT_PARTS = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", A_IM)
"""Request fields that are answered from complete copies only."""


@dataclass(frozen=True, slots=True)
class ServeParts:
    """Answer with stored parts, without contact."""

    parts: tuple[Copy, ...]
    """The part received last first: it has the head."""
    size: int
    """The size of the complete content, bytes."""
    reuse: Reuse
    as_stored: bool = False
    """Whether the answer is the only part, whatever of the range it has."""


class Joining(StrEnum):
    """What becomes of the origin's response to the request for the rest of stored parts."""

    COMBINED = "combined"
    """It completes them."""
    FORWARDED = "forwarded"
    """It answers the request by itself."""
    USELESS = "useless"
    """The client's request must be sent as it is."""


def may_use_parts(request: Request, decision: Decision) -> bool:
    """Whether stored parts may change the decision on a request: no complete copy answers it."""
    if request.method not in ("GET", "HEAD") or any(name in request.fields for name in _WITHOUT_PARTS):
        return False
    if isinstance(decision, Refuse):
        return decision.detail in (OFFLINE, ONLY_IF_CACHED)
    return isinstance(decision, Ask) and decision.chosen is None and not decision.bypass


def on_parts(
    request: Request,
    decision: Decision,
    parts: Sequence[Copy],
    copies: Sequence[Copy],
    rule: DomainRule,
    site: Site,
    now_s: float,
) -> Decision | ServeParts:
    """Decide on a request, given the decision without parts, the stored parts and the complete copies of its URL.

    Only the parts of the version that was received last are used, and only if no complete response came later. The
    origin is asked for the first of the missing spans, with If-Range: its response shows whether the parts are current.
    """
    found = _latest_version(request, parts, copies, site)
    if found is None:
        return decision
    leading, group, where = found
    asked = of_request(request.fields, honour=rule.honour_client_cc)
    reuse = decide(request, asked, as_complete(leading, where.size), now_s, rule)
    is_usable = reuse.action in (Action.FRESH, Action.STALE) or site.offline
    if request.method == "HEAD":
        return ServeParts((leading,), where.size, reuse) if is_usable else decision
    if is_usable and _fetched(request, leading):
        return ServeParts((leading,), where.size, reuse, as_stored=True)
    spans = _wanted(request, leading, where.size)
    if not spans:
        return decision
    is_covered = not any(missing(group, span) for span in spans)
    if is_covered and is_usable:
        return ServeParts(group, where.size, reuse)
    if not isinstance(decision, Ask):
        return decision
    rest = Rest(spans[0], where.size, group, () if is_covered else to_fetch(missing(group, spans[0])), decision.sent)
    validator = strong_validator(leading.head.fields)
    if validator is None or len(spans) > 1 or rest.gaps == spans or not _is_fetched_alike(request, leading):
        return replace(decision, rest=rest) if is_covered else decision
    fields = _for_rest(rest, decision.sent.fields, validator)
    return replace(
        decision, sent=replace(decision.sent, fields=fields), fwd=Fwd.PARTIAL, detail=reuse.reason, rest=rest
    )


def on_awaited_parts(
    request: Request,
    parts: Sequence[Copy],
    copies: Sequence[Copy],
    site: Site,
    reuse_of: Callable[[Copy], Reuse | None],
) -> ServeParts | None:
    """Return the parts that answer a range request which waited for the response to another; None if none do.

    `reuse_of` decides on the reuse of the part received last, as if it were complete.
    """
    found = _latest_version(request, parts, copies, site)
    if found is None:
        return None
    leading, group, where = found
    reuse = reuse_of(as_complete(leading, where.size))
    if reuse is None:
        return None
    if _fetched(request, leading):
        return ServeParts((leading,), where.size, reuse, as_stored=True)
    spans = _wanted(request, leading, where.size)
    is_covered = bool(spans) and not any(missing(group, span) for span in spans)
    return ServeParts(group, where.size, reuse) if is_covered else None


def _latest_version(
    request: Request, parts: Sequence[Copy], copies: Sequence[Copy], site: Site
) -> tuple[Copy, tuple[Copy, ...], Place] | None:
    """Return the part received last, all parts of its version, and its place; None if there is none for a request."""
    latest_s = max((copy.response_time_s for copy in copies), default=0.0)
    fitting = [p for p in parts if p.response_time_s >= latest_s and choose([p], request.fields, site.salt) is not None]
    leading = max(fitting, key=lambda part: part.response_time_s, default=None)
    where = None if leading is None else place(leading.head)
    return None if leading is None or where is None else (leading, combinable(fitting, leading), where)


def _is_fetched_alike(request: Request, part: Copy) -> bool:
    """Whether a request has credentials of the kinds with which a part was fetched: what is combined has one mark."""
    kinds = "cookie" in request.fields, "authorization" in request.fields
    return kinds == (part.fetched_with_cookie, part.fetched_with_authorization)


def _for_rest(rest: Rest, sent: Fields, validator: tuple[str, str]) -> Fields:
    """Return the fields of the request for the first missing span or, if there is none, of the validation."""
    fields = sent.without(_CONDITIONS)
    if rest.gaps:
        return fields.added(("Range", range_of(rest.gaps[0], rest.size)), validator)
    name = "If-None-Match" if rest.parts[0].etag is not None else "If-Modified-Since"
    ranged = (("Range", range_of(rest.wanted, rest.size)),) if "range" in sent else ()
    return fields.added((name, validator[1]), *ranged)


def on_failure_with_parts(ask: Ask, rule: DomainRule, now_s: float) -> ServeParts | None:
    """Return the parts that answer after a failure or 5xx of the origin; None if they are not enough, or may not."""
    rest = ask.rest
    if rest is None or rest.gaps:
        return None
    asked = of_request(ask.request.fields, honour=rule.honour_client_cc)
    reuse = without_origin(ask.request, asked, as_complete(rest.parts[0], rest.size), now_s, rule)
    return None if reuse is None else ServeParts(rest.parts, rest.size, reuse)


def _fetched(request: Request, part: Copy) -> bool:
    """Whether an equal request has fetched a part that is shorter than its Content-Range said."""
    is_same = request.fields.values("range") == (part.asked_range,)
    return is_same and bool(part.asked_range) and "if-range" not in request.fields


def _wanted(request: Request, leading: Copy, size: int) -> tuple[Span, ...]:
    """Return the spans that the answer to a request has of the content; empty if the parts do not show it."""
    if "range" not in request.fields:
        return (Span(0, size),)
    part = ranges.part(request, as_complete(leading, size).head)
    return () if part is None else tuple(piece for piece in part.pieces if isinstance(piece, Span))


def joining(ask: Ask, head: Head) -> Joining:
    """Decide whether the origin's response completes the parts."""
    rest = ask.rest
    assert rest is not None
    if ask.sent is rest.otherwise:
        return Joining.FORWARDED
    if protected_in_response(head.fields) and head.status in (206, 304):
        return Joining.USELESS
    leading = rest.parts[0]
    if head.status == 304:
        return Joining.COMBINED if not rest.gaps and confirmed(head, (leading,)) else Joining.USELESS
    if head.status == 206 and rest.gaps:
        gap = rest.gaps[0]
        fits = place(head) == (gap, rest.size) and not is_truncated(head.fields, gap.end - gap.start)
        return Joining.COMBINED if fits and are_of_one_version(head, leading.head) else Joining.USELESS
    return Joining.USELESS if head.status == 416 else Joining.FORWARDED


def for_gap(ask: Ask, gap: Span) -> Ask:
    """Return the request for a further missing span; `ask` is the one for the first."""
    assert ask.rest is not None
    value = range_of(gap, ask.rest.size)
    request = replace(ask.request, fields=ask.request.fields.replaced("Range", value))
    sent = replace(ask.sent, fields=ask.sent.fields.replaced("Range", value))
    return replace(ask, request=request, sent=sent, rest=replace(ask.rest, gaps=(gap,)))


def continues(ask: Ask, head: Head, first: Head, times: Times, rule: DomainRule, site: Site) -> bool:
    """Whether the response for a further missing span may be combined with that for the first, whose head is `first`.

    It is of the same version and, if the first may be stored, may be stored as well, for the same requests.
    """
    if joining(ask, head) is not Joining.COMBINED:
        return False
    before, after = (on_response(ask, one, times, rule, site) for one in (first, head))
    assert isinstance(before, Relay)
    assert isinstance(after, Relay)
    if before.draft is None or after.why_not_stored == TOO_LARGE:
        return True
    return after.draft is not None and len(combinable((after.draft,), before.draft)) == 2


def combined(rest: Rest, request: Request, head: Head) -> Head:
    """Return the head of the combined response: the fields of the latest, over those of the stored part (RFC 9111 3.4).

    It is a 200 if the client wants the whole, so that what comes of it is an ordinary copy.
    """
    kept = {"content-length", "content-encoding", "content-range", "content-md5", "content-digest", "etag"}
    new = end_to_end(head.fields).without(kept)
    leading = rest.parts[0]
    fields = leading.head.fields.without({*new.names(), "date"}).added(*new.raw)
    merged = replace(leading, head=Head(206, fields, leading.head.reason))
    if "range" not in request.fields:
        return as_complete(merged, rest.size).head
    return as_part(merged.head, rest.wanted, rest.size)


def without_rest(ask: Ask) -> Ask:
    """Return the request as the client made it: the response did not complete the parts."""
    return ask if ask.rest is None else replace(ask, sent=ask.rest.otherwise, rest=None)
