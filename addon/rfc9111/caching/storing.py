"""The decision on storing a response in a shared cache, and the fields to store (RFC 9111 3)."""

from collections.abc import Sequence
from enum import StrEnum

from bestbefore.addon.rfc9111.caching.age import current_at_s, date_value_s, with_date
from bestbefore.addon.rfc9111.caching.bypass import bypass_reason, is_unusual
from bestbefore.addon.rfc9111.caching.freshness import Lifetime, explicit_lifetime, heuristics_allowed
from bestbefore.addon.rfc9111.caching.personal import begins_session, binding
from bestbefore.addon.rfc9111.caching.vary import selecting, selecting_names
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.connection import connection_options, end_to_end, protected_in_response
from bestbefore.addon.rfc9111.fields.dates import date_field
from bestbefore.addon.rfc9111.fields.directives import CacheControl, of_request, of_response
from bestbefore.addon.rfc9111.fields.entity_tags import etag_field
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.fields.targeted import governing
from bestbefore.addon.rfc9111.message import Fields, Head, Request


class NoStore(StrEnum):
    """The reason why a response is not stored, for log and metrics."""

    METHOD = "method"
    REQUEST = "request"
    """The request bypasses the cache (`bypass`)."""
    REQUEST_NO_STORE = "request-no-store"
    STATUS = "status"
    """Not final, or not cacheable by definition."""
    UNUSUAL_REQUEST = "unusual-request"
    """An error that may be caused by fields which are not part of the cache key (`bypass.is_unusual`)."""
    PARTIAL = "partial"
    """A 206 that is not one part of a content of known size; or an error in response to a range request."""
    NOT_UNDERSTOOD = "not-understood"
    """must-understand, with a status that the cache does not understand."""
    NO_STORE = "no-store"
    PRIVATE = "private"
    AUTHORIZATION = "authorization"
    VARY = "vary-star"
    LONG_FIELD = "long-field"
    """A request field that selects the response is too long to be normalised."""
    SET_COOKIE = "set-cookie"
    CONNECTION = "connection-option"
    """Connection names a field without which the response would be misinterpreted."""
    EVENT_STREAM = "event-stream"
    NOT_CACHEABLE = "not-cacheable"
    """Neither an explicit lifetime, nor public, nor a heuristically cacheable status."""
    NEVER_USABLE = "no-validator"
    """It could never be reused: it has neither a lifetime nor a validator."""

    @property
    def lies_in_the_request(self) -> bool:
        """Whether the reason is in the request: a copy that is stored already may be kept."""
        return self in (
            NoStore.METHOD,
            NoStore.REQUEST,
            NoStore.REQUEST_NO_STORE,
            NoStore.UNUSUAL_REQUEST,
            NoStore.PARTIAL,
            NoStore.AUTHORIZATION,
            NoStore.LONG_FIELD,
        )


_UNDERSTOOD = frozenset((
    *(200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308),
    *(400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 417, 421, 422, 426),
    *(500, 501, 502, 503, 504, 505),
))
"""The final statuses of RFC 9110 whose caching rules are implemented; not those below."""

_NEVER = frozenset((
    226,  # what the client of this one request lacked (RFC 3229)
    304,  # says something of a stored response, and is none
    407,  # between a client and its proxy
    412, 416,  # answers to what is not part of the key: preconditions, a range
    428, 429, 431, 511,  # RFC 6585 3 to 6
))  # fmt: skip

_ABOUT_THE_TARGET = (404, 410)

_EVENT_STREAMS = ("text/event-stream", "multipart/x-mixed-replace")


def why_not_store(
    request: Request, head: Head, now_s: float, *, targeted: Sequence[str] = (), without_validator: bool = False
) -> NoStore | None:
    """Return why a response received now may not be stored, or None if it may (RFC 9111 3).

    `head` is as received, connection fields included. `targeted`: the targeted fields that are obeyed.
    `without_validator`: the rule of the domain has a use for copies that have neither validator nor lifetime (learned
    freshness for them, or serving while the origin is down).
    """
    fields = governing(head.fields, targeted)
    cache_control = of_response(fields)
    lifetime = explicit_lifetime(cache_control, fields, date_value_s(fields, now_s), now_s)
    return (
        _by_request(request)
        or _by_connection(head.fields, targeted)
        or _by_status(request, head.status, cache_control)
        or _by_directives(request, cache_control)
        or _by_fields(request, fields, cache_control, lifetime)
        or _by_use(head, cache_control, lifetime, now_s, without_validator=without_validator)
    )


def _by_request(request: Request) -> NoStore | None:
    if request.method != "GET":
        return NoStore.METHOD
    if bypass_reason(request) is not None:
        return NoStore.REQUEST
    return NoStore.REQUEST_NO_STORE if of_request(request.fields).no_store else None


def _by_connection(fields: Fields, targeted: Sequence[str]) -> NoStore | None:
    if protected_in_response(fields) or (targeted and not connection_options(fields).isdisjoint(targeted)):
        return NoStore.CONNECTION
    return None


def _by_status(request: Request, status: int, cache_control: CacheControl) -> NoStore | None:
    if status == 206 or (status != 200 and "range" in request.fields):
        return NoStore.PARTIAL
    if not 200 <= status <= 599 or status in _NEVER:
        return NoStore.STATUS
    if status >= 400 and status not in _ABOUT_THE_TARGET and is_unusual(request.fields):
        return NoStore.UNUSUAL_REQUEST
    if cache_control.must_understand and status not in _UNDERSTOOD:
        return NoStore.NOT_UNDERSTOOD
    return None


def _by_directives(request: Request, cache_control: CacheControl) -> NoStore | None:
    # A response with must-understand has no-store for caches that do not support it (RFC 9111 5.2.2.3).
    if cache_control.no_store and not cache_control.must_understand:
        return NoStore.NO_STORE
    if cache_control.private:
        return NoStore.PRIVATE
    shared = cache_control.public or cache_control.must_revalidate or cache_control.s_maxage is not None
    if "authorization" in request.fields and not shared:
        return NoStore.AUTHORIZATION
    return None


def _by_fields(
    request: Request, fields: Fields, cache_control: CacheControl, lifetime: Lifetime | None
) -> NoStore | None:
    if selecting_names(fields) is None:
        return NoStore.VARY
    if selecting(fields, request.fields) is None:
        return NoStore.LONG_FIELD
    if "set-cookie" in fields and (lifetime is None or begins_session(request, fields, cache_control)):
        return NoStore.SET_COOKIE
    if (fields.first("content-type") or "").lower().startswith(_EVENT_STREAMS):
        return NoStore.EVENT_STREAM
    return None


def _by_use(
    head: Head, cache_control: CacheControl, lifetime: Lifetime | None, now_s: float, *, without_validator: bool
) -> NoStore | None:
    if lifetime is None and not heuristics_allowed(head.status, cache_control):
        return NoStore.NOT_CACHEABLE
    ever_fresh = lifetime is not None and lifetime.lifetime_s > 0 and not cache_control.no_cache
    served_stale = cache_control.stale_while_revalidate or cache_control.stale_if_error
    validated = etag_field(head.fields) is not None or date_field(head.fields, "last-modified", now_s) is not None
    return None if without_validator or ever_fresh or served_stale or validated else NoStore.NEVER_USABLE


def is_truncated(fields: Fields, size: int) -> bool:
    """Whether the size of content, in bytes, differs from Content-Length (RFC 9112 8): it is never stored then."""
    lengths = [length for line in fields.values("content-length") for length in list_members(line)]
    return any((length.lstrip("0") or "0") != str(size) for length in lengths)


def storable_fields(fields: Fields, cache_control: CacheControl) -> Fields:
    """Return the fields of a response that may be stored (RFC 9111 3.1).

    Excluded are the connection fields, those named by no-cache or private, and Age, which is computed at each use.
    """
    return end_to_end(fields).without({"age", *cache_control.no_cache_names, *cache_control.private_names})


def copy_of(
    request: Request,
    head: Head,
    body: BodyRef,
    *,
    request_time_s: float,
    response_time_s: float,
    salt: bytes,
    targeted: tuple[str, ...] = (),
) -> Copy:
    """Return the copy to store of a response with complete content, for which `why_not_store` returns None.

    A missing or malformed Date is added, and Content-Length.
    """
    steering = governing(head.fields, targeted)
    cache_control = of_response(steering)
    fields = with_date(storable_fields(head.fields, cache_control), response_time_s)
    if head.status != 204 and "content-length" not in fields:
        fields = fields.added(("Content-Length", str(body.size)))
    return Copy(
        url=request.target.url,
        head=Head(head.status, fields, head.reason),
        body=body,
        request_time_s=request_time_s,
        response_time_s=response_time_s,
        current_s=current_at_s(head.fields, request_time_s, response_time_s),
        stored_s=request_time_s,
        selecting=selecting(head.fields, request.fields) or (),
        partition=request.partition,
        personal=binding(request, Head(head.status, steering), cache_control, salt),
        fetched_with_cookie="cookie" in request.fields,
        fetched_with_authorization="authorization" in request.fields,
        targeted=targeted,
    )
