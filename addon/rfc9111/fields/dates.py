"""HTTP dates: a strict parser of their three forms, and a writer of one (RFC 9110 5.6.7)."""

import re
from datetime import UTC, date, datetime
from functools import lru_cache

from bestbefore.addon.rfc9111.message import Fields

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_LONG = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(_MONTHS, 1)}

_DAY = f"(?:{'|'.join(_DAYS)})"
_DAY_LONG = f"(?:{'|'.join(_DAYS_LONG)})"
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FLAGS = re.IGNORECASE | re.ASCII
_FORMS = (
    # IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
    re.compile(f"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT", _FLAGS),
    # RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(f"{_DAY_LONG}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT", _FLAGS),
    # asctime: Sun Nov  6 08:49:37 1994
    re.compile(f"{_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})", _FLAGS),
)

_FIXDATE_LENGTH = len("Sun, 06 Nov 1994 08:49:37 GMT")
_DAY_S = 86400
_YEAR_S = 365.2425 * _DAY_S
_EPOCH = date(1970, 1, 1).toordinal()
_LAST_S = (date.max.toordinal() - _EPOCH + 1) * _DAY_S - 1


def parse_http_date(text: str, now_s: float) -> float | None:
    """Parse a date of one of the three forms into Unix seconds; None if malformed.

    Case is ignored, as RFC 9111 4.2 requires of caches. A time that does not exist (30 February, 24:00) is malformed;
    23:59:60 is the second after 23:59:59. The name of the day must be valid, but is not compared with the date, as
    senders get it wrong. `now_s` (finite) determines the century of the two-digit year of the RFC 850 form.
    """
    if len(text) == _FIXDATE_LENGTH:
        return _fixdate_s(text)
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return _unix_s(match, now_s)
    return None


@lru_cache(1024)
def _fixdate_s(text: str) -> float | None:
    """Parse an IMF-fixdate, whose length no date of another form has. Responses of one second have the same."""
    match = _FORMS[0].fullmatch(text)
    return None if match is None else _unix_s(match, 0.0)


def _unix_s(match: re.Match[str], now_s: float) -> float | None:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    leap_second = (hour, minute, second) == (23, 59, 60)
    if hour > 23 or minute > 59 or (second > 59 and not leap_second):
        return None
    month, day = _MONTH_NUMBERS[match["month"].lower()], int(match["day"])
    of_day_s = hour * 3600 + minute * 60 + second
    if len(match["year"]) == 4:
        return _at_s(int(match["year"]), month, day, of_day_s)
    # Two digits: the latest such year that is not more than 50 years in the future.
    latest_s = now_s + 50 * _YEAR_S
    century = (1970 + int(latest_s // _YEAR_S)) // 100 * 100
    for base in (century, century - 100):
        unix_s = _at_s(base + int(match["year"]), month, day, of_day_s)
        if unix_s is not None and unix_s <= latest_s:
            return unix_s
    return None


def _at_s(year: int, month: int, day: int, of_day_s: int) -> float | None:
    try:
        return float((date(year, month, day).toordinal() - _EPOCH) * _DAY_S + of_day_s)
    except ValueError:
        return None


def date_field(fields: Fields, name: str, now_s: float) -> float | None:
    """Parse the date in the first line of a field; None if there is none or it is malformed."""
    text = fields.first(name)
    return None if text is None else parse_http_date(text, now_s)


def format_http_date(unix_s: float) -> str:
    """Write the IMF-fixdate of a time, truncated to seconds; times outside the years 1970 to 9999 are clipped.

    >>> format_http_date(784111777.9)
    'Sun, 06 Nov 1994 08:49:37 GMT'
    """
    return _fixdate(min(max(int(unix_s), 0), _LAST_S))


@lru_cache(1024)
def _fixdate(unix_s: int) -> str:
    at = datetime.fromtimestamp(unix_s, UTC)
    # Not strftime: its names depend on the locale.
    return f"{_DAYS[at.weekday()]}, {at:%d} {_MONTHS[at.month - 1]} {at.year:04d} {at:%H:%M:%S} GMT"
