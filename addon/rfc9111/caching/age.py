"""The age of a response (RFC 9111 4.2.3, 5.1)."""

import math

from bestbefore.addon.rfc9111.fields.dates import date_field, format_http_date
from bestbefore.addon.rfc9111.fields.syntax import delta_seconds, list_members
from bestbefore.addon.rfc9111.message import Fields


def age_value_s(fields: Fields) -> int:
    """Return the value of the Age field; 0 without one.

    Of several members or lines the first counts, and an invalid one is ignored (RFC 9111 5.1).
    """
    members = list_members(fields.first("age") or "")
    return (delta_seconds(members[0]) or 0) if members else 0


def date_value_s(fields: Fields, response_time_s: float) -> float:
    """Return the Date of a response; the time of receipt if it is missing or malformed (RFC 9110 6.6.1)."""
    date_s = date_field(fields, "date", response_time_s)
    return response_time_s if date_s is None else date_s


def clock_ahead_s(fields: Fields, response_time_s: float) -> float | None:
    """Return by how much the origin's clock is ahead, s; None if its Date is missing, or was not made for this contact.

    A cache on the way that adds no Age makes it seem behind.
    """
    date_s = date_field(fields, "date", response_time_s)
    return None if date_s is None or fields.get("age") is not None else date_s - math.floor(response_time_s)


def with_date(fields: Fields, response_time_s: float) -> Fields:
    """Return the fields with a Date: if there is no valid one, the time of receipt (RFC 9110 6.6.1)."""
    if date_field(fields, "date", response_time_s) is not None:
        return fields
    return fields.replaced("Date", format_http_date(response_time_s))


def corrected_initial_age_s(fields: Fields, request_time_s: float, response_time_s: float) -> float:
    """Return the age at receipt (RFC 9111 4.2.3); at least 0, even if the clock was set back during the exchange.

    As Date counts whole seconds, the time of receipt is truncated to whole seconds too. Otherwise each response would
    seem half a second old on average, which is long for objects that change often.
    """
    apparent_age_s = max(0.0, math.floor(response_time_s) - date_value_s(fields, response_time_s))
    response_delay_s = max(0.0, response_time_s - request_time_s)
    return max(apparent_age_s, age_value_s(fields) + response_delay_s)


def current_at_s(fields: Fields, request_time_s: float, response_time_s: float) -> float:
    """Return t, when a response with these fields was current."""
    return response_time_s - corrected_initial_age_s(fields, request_time_s, response_time_s)
