"""Conditional requests of the proxy and of clients, and the responses to them (RFC 9111 4.3, RFC 9110 13)."""

from collections.abc import Sequence
from dataclasses import replace

from bestbefore.addon.rfc9111.caching.age import current_at_s, with_date
from bestbefore.addon.rfc9111.caching.personal import binding
from bestbefore.addon.rfc9111.caching.storing import storable_fields
from bestbefore.addon.rfc9111.caching.vary import selecting
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.connection import end_to_end
from bestbefore.addon.rfc9111.fields.dates import date_field, format_http_date, parse_http_date
from bestbefore.addon.rfc9111.fields.directives import of_response
from bestbefore.addon.rfc9111.fields.entity_tags import etag_field, parse_entity_tags
from bestbefore.addon.rfc9111.fields.targeted import governing
from bestbefore.addon.rfc9111.message import Fields, Head, Request

_CONDITIONS = frozenset(("if-none-match", "if-modified-since"))

_OF_THE_CONTENT = frozenset(("content-length", "content-encoding", "content-range", "content-md5", "content-digest"))
"""Fields that describe the stored content: a response without content cannot change them (RFC 9111 3.2)."""

_REPRESENTATION = frozenset((
    *_OF_THE_CONTENT,
    "content-disposition",
    "content-language",
    "content-type",
    "repr-digest",
))
"""Fields that a 304 need not repeat (RFC 9110 15.4.5)."""


def conditional(request: Fields, copies: Sequence[Copy]) -> Fields:
    """Return the fields of the request that validates the copies (RFC 9111 4.3.1).

    `copies`: those that match the request, the chosen one first. The client's own If-None-Match and
    If-Modified-Since are replaced: the answer to them is made from ours, by `is_not_modified`. Copies without any
    validator ask nothing, and the request is unconditional.
    """
    tags = list(dict.fromkeys(str(copy.etag) for copy in copies if copy.etag is not None))
    conditions = [("If-None-Match", ", ".join(tags))] if tags else []
    if copies and copies[0].last_modified_s is not None:
        conditions.append(("If-Modified-Since", format_http_date(copies[0].last_modified_s)))
    return request.without(_CONDITIONS).added(*conditions)


def confirmed(not_modified: Head, copies: Sequence[Copy]) -> tuple[Copy, ...]:
    """Return which of the copies whose validators were sent a 304 confirms (RFC 9111 4.3.4).

    Empty: none of them. Then the request must be sent again without conditions.

    Copies are found by ETag where both sides have one, else by Last-Modified: all that have the same strong tag,
    else the most recent that corresponds. Two deviations, for what origins really send. A strong tag may confirm a
    copy with the same tag as a weak one: nginx weakens the tag of a compressed 200, not that of its 304. And a 304
    that names nothing, or nothing that can be read (against RFC 9110 15.4.5), is about the one copy whose validators
    were sent, if it was one: origins whose entity tags lack their quotes are validated by Last-Modified.
    """
    fields = not_modified.fields
    tag = etag_field(fields)
    if tag is None and all(date_field(fields, "last-modified", copy.response_time_s) is None for copy in copies):
        return tuple(copies) if len(copies) == 1 else ()
    if tag is not None:
        same = tuple(copy for copy in copies if copy.etag is not None and copy.etag.strongly_equals(tag))
        if same:
            return same
    found = [copy for copy in copies if _corresponds(fields, copy)]
    return (max(found, key=lambda copy: copy.date_s),) if found else ()


def _corresponds(not_modified: Fields, copy: Copy) -> bool:
    tag = etag_field(not_modified)
    if tag is not None and copy.etag is not None:
        return copy.etag.weakly_equals(tag)
    last_modified_s = date_field(not_modified, "last-modified", copy.response_time_s)
    return last_modified_s is not None and last_modified_s == copy.last_modified_s


def updated(
    copy: Copy, request: Request, head: Head, *, request_time_s: float, response_time_s: float, salt: bytes
) -> Copy:
    """Return a copy that a 304 has confirmed, updated with the fields of the 304 (RFC 9111 3.2).

    Never those that describe the content, nor the ETag under which the content came. A Set-Cookie that the 304 brings
    may bind the copy to the client that it was for. There is no verdict yet: the policy gives one for the new
    `current_s`. Then ask `why_not_store` of the new head: the 304 may have brought a no-store.
    """
    kept = _OF_THE_CONTENT if copy.etag is None else _OF_THE_CONTENT | {"etag"}
    new = with_date(end_to_end(head.fields), response_time_s).without(kept)
    fields = copy.head.fields.without(new.names()).added(*new.raw)
    steering = governing(fields, copy.targeted)
    cache_control = of_response(steering)
    new_head = replace(copy.head, fields=storable_fields(fields, cache_control))
    bound_to = binding(request, Head(head.status, steering), cache_control, salt) if "set-cookie" in new else ""
    return replace(
        copy,
        head=new_head,
        request_time_s=request_time_s,
        response_time_s=response_time_s,
        current_s=current_at_s(head.fields, request_time_s, response_time_s),
        selecting=selecting(fields, request.fields) or copy.selecting,
        personal=copy.personal or bound_to,
        outdated=False,
        expiry_s=None,
        reason="",
        rule="",
    )


def freshened(
    copy: Copy, request: Request, head: Head, *, request_time_s: float, response_time_s: float, salt: bytes
) -> Copy:
    """Return a copy after a 200 to a HEAD that it could have answered (RFC 9111 4.3.5).

    It is updated if status, validators and Content-Length in the response are those of the copy; else it is marked as
    outdated.
    """
    shown, stored = head.fields, copy.head.fields
    validators = ("etag", "last-modified", "content-length")
    same = all(name not in shown or shown.first(name) == stored.first(name) for name in validators)
    if not same or head.status != copy.head.status:
        return replace(copy, outdated=True)
    return updated(copy, request, head, request_time_s=request_time_s, response_time_s=response_time_s, salt=salt)


def is_not_modified(request: Request, copy: Copy) -> bool:
    """Whether the client's own condition requires a 304 as the answer from this copy (RFC 9111 4.3.2, RFC 9110 13.2.2).

    If-Modified-Since counts only without If-None-Match, and only if it is one valid date.
    """
    if copy.head.status != 200:
        return False
    asked = request.fields.get("if-none-match")
    if asked is not None:
        if asked.strip(" \t") == "*":
            return True
        own = copy.shown_etag
        return own is not None and any(own.weakly_equals(tag) for tag in parse_entity_tags(asked))
    since = request.fields.get("if-modified-since")
    since_s = None if since is None else parse_http_date(since, copy.response_time_s)
    if since_s is None:
        return False
    return (copy.date_s if copy.last_modified_s is None else copy.last_modified_s) <= since_s


def not_modified(head: Head) -> Head:
    """Return the 304 for a 200 with this head (RFC 9110 15.4.5): without the fields that describe the content.

    Last-Modified is kept only if it is the only validator.
    """
    names = _REPRESENTATION | {"last-modified"} if "etag" in head.fields else _REPRESENTATION
    return Head(304, head.fields.without(names), "Not Modified")
