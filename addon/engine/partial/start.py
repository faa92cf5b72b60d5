"""The start of a response whose content did not arrive to its end, stored as a part (RFC 9111 3.3)."""

from dataclasses import replace

from bestbefore.addon.engine.response import Relay
from bestbefore.addon.rfc9111.conditional.parts import Place, as_part, partition_of, place, strong_validator
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Head

_SIZE_DIGITS_AT_MOST = 18


def start_of(relay: Relay, body: BodyRef) -> Copy | None:
    """Return the part to store of a response of which only the first bytes have arrived; None if there is no use.

    It is useful only if it can be completed: by its strong validator, and if the origin does not refuse ranges.
    """
    draft = relay.draft
    if draft is None or relay.why_not_stored or relay.delivery is not None or not body.size:
        return None
    fields = draft.head.fields
    where = place(draft.head) or _whole(draft.head)
    refuses = (fields.get("accept-ranges") or "").strip(" \t").lower() == "none"
    if where is None or refuses or strong_validator(fields) is None:
        return None
    span = Span(where.span.start, where.span.start + body.size)
    if span.end >= where.span.end:
        return None
    partition = draft.partition if draft.head.status == 206 else partition_of(draft.partition)
    return replace(draft, head=as_part(draft.head, span, where.size), body=body, partition=partition)


def _whole(head: Head) -> Place | None:
    length = head.fields.get("content-length") or ""
    known = head.status == 200 and length.isascii() and length.isdigit() and len(length) <= _SIZE_DIGITS_AT_MOST
    return Place(Span(0, int(length)), int(length)) if known and int(length) else None
