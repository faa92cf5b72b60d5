"""The response from a copy (RFC 9111 4)."""

from dataclasses import replace

from bestbefore.addon.rfc9111.conditional.validation import is_not_modified, not_modified
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.syntax import DELTA_MAX_S
from bestbefore.addon.rfc9111.message import Head, Request


def answer(request: Request, copy: Copy, age_s: float) -> Head:
    """Return the head of the response from a copy, with Age: a 304 if the client's own condition allows it.

    An entity tag of ours stands in it where the origin has none.

    A 304, and any answer to HEAD, goes without content. Via and Cache-Status are the caller's to add.
    """
    head = copy.head
    if copy.etag is None and copy.shown_etag is not None:
        head = replace(head, fields=head.fields.replaced("ETag", str(copy.shown_etag)))
    if is_not_modified(request, copy):
        head = not_modified(head)
    age = str(int(min(max(age_s, 0.0), DELTA_MAX_S)))
    return Head(head.status, head.fields.added(("Age", age)), head.reason)
