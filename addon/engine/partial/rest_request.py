"""The rest of a response that a client has read too slowly to go on sharing it: it is requested from the origin."""

from dataclasses import replace

from bestbefore.addon.rfc9111.conditional.parts import place, strong_validator
from bestbefore.addon.rfc9111.message import Head, Request

_CONDITIONS = frozenset(("range", "if-range", "if-none-match", "if-modified-since"))


def for_rest(sent: Request, head: Head, at: int) -> Request | None:
    """Return the request for the content of a response from an offset on; None if it would not show its version.

    `sent` is the client's request as the origin would get it, `head` that of the response.
    """
    validator = strong_validator(head.fields)
    if head.status != 200 or validator is None:
        return None
    fields = sent.fields.without(_CONDITIONS).added(("Range", f"bytes={at}-"), validator)
    return replace(sent, fields=fields)


def before_rest(head: Head, first: Head, at: int) -> int | None:
    """Return how many bytes of a response precede the rest of the first; None if it is not of the same version."""
    if strong_validator(head.fields) != strong_validator(first.fields):
        return None
    if head.fields.values("content-encoding") != first.fields.values("content-encoding"):
        return None
    where = place(head)
    if where is not None:
        return 0 if where.span.start == at and where.span.end == where.size else None
    return at if head.status == 200 else None
