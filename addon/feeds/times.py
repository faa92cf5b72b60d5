"""Parser of dates in feeds: RFC 822 with its common deviations, and profiles of ISO 8601 (RFC 3339, W3C-DTF)."""

import re
from datetime import UTC, datetime

_ISO = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)"
    r"(?:[Tt ]\s*(\d{1,2}):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(?:[Zz]|UTC|GMT|([+-]\d\d):?(\d\d)?)?)?",
    re.ASCII,
)
_RFC822 = re.compile(
    r"(?:[A-Za-z]{2,9}\.?,?\s*)?(\d{1,2})[\s-]+([A-Za-z]{3})[a-z]*\.?,?[\s-]+(\d{4}|\d\d)"
    r"(?:[\s,]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?\s*([A-Za-z]{1,5})?\s*(?:([+-]\d\d):?(\d\d))?.*)?",
    re.ASCII,
)
_LONGEST = 80

_MONTHS = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
)}
_ZONE_HOURS = {
    "ast": -4, "adt": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "cet": 1, "cest": 2,
}
"""Hours east of Greenwich. Other names, such as UT and GMT, and a missing zone count as UTC."""


def parse_time(text: str) -> float | None:
    """Parse a date into Unix seconds; None if it has another form or does not exist.

    Fractions of a second are dropped. A date without time is midnight. The name of the day is not checked.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    if found := _ISO.fullmatch(text):
        year, month, day, *clock, hours, minutes = found.groups()
        return _unix_s(int(year), int(month), int(day), clock, _offset_s(hours, minutes))
    if found := _RFC822.fullmatch(text):
        day, name, year, *clock, zone, hours, minutes = found.groups()
        named = _MONTHS.get(name.lower(), 0)
        offset_s = _offset_s(hours, minutes) if hours else _ZONE_HOURS.get((zone or "").lower(), 0) * 3600.0
        return _unix_s(_full_year(year), named, int(day), clock, offset_s)
    return None


def _full_year(digits: str) -> int:
    """Return the year of two digits: 1990 to 2089, since there were no feeds before."""
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year >= 90 else 2000)


def _offset_s(hours: str | None, minutes: str | None) -> float:
    if not hours:
        return 0.0
    sign = -1.0 if hours[0] == "-" else 1.0
    return int(hours) * 3600.0 + sign * int(minutes or 0) * 60.0


def _unix_s(year: int, month: int, day: int, clock: list[str | None], offset_s: float) -> float | None:
    hour, minute, second = (int(part or 0) for part in clock)
    if hour > 23 or minute > 59 or second > 60 or abs(offset_s) > 86400:
        return None
    try:
        midnight_s = datetime(year, month, day, tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
    return midnight_s + hour * 3600 + minute * 60 + second - offset_s
