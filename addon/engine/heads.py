"""The heads of the responses that we send."""

from http import HTTPStatus

from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.conditional.answer import answer
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.connection import end_to_end
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request


def from_copy(request: Request, copy: Copy, now_s: float, status_member: str, site: Site) -> Head:
    """A copy as the answer to a request: with its Age, or as a 304 where the client has it already.

    `status_member` is our member of Cache-Status.
    """
    head = answer(request, copy, copy.age_s(now_s))
    return Head(head.status, _with_us(head.fields, status_member, site), head.reason)


def passed_on(head: Head, now_s: float, status_member: str, site: Site) -> Head:
    """Return the head of an origin's response for the client; a Date is added where there is none (RFC 9110 6.6.1)."""
    fields = end_to_end(head.fields)
    if "date" not in fields:
        fields = fields.added(("Date", format_http_date(now_s)))
    return Head(head.status, _with_us(fields, status_member, site), head.reason)


def interim(head: Head, site: Site) -> Head:
    """Return the head of an origin's interim response for the client."""
    return Head(head.status, end_to_end(head.fields).added(("Via", f"1.1 {site.name}")), head.reason)


def _with_us(fields: Fields, status_member: str, site: Site) -> Fields:
    """Return the fields with us added last: who is nearer to the origin comes first (RFC 9110 7.6.3, RFC 9211 2)."""
    return fields.added(("Via", f"1.1 {site.name}"), ("Cache-Status", status_member))


def of_our_own(status: int, now_s: float, status_member: str, size: int, *lines: tuple[str, str]) -> Head:
    """A short plain text of our own, such as an error; never stored by anyone."""
    return Head(
        status,
        Fields((
            ("Date", format_http_date(now_s)),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(size)),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            *lines,
            ("Cache-Status", status_member),
        )),
        HTTPStatus(status).phrase,
    )
