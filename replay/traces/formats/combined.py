"""Access logs of Apache, nginx and others: common or combined, plain or with `host:port` before each line.

A line is `client ident user [day/month/year:time zone] "request" status size`, in the combined form with `"referer"
"user agent"` and perhaps more behind it. The object is the target of the request as it stands in the log, after the
host if the line begins with one. In nginx and in Apache's `%b` the size is that of the body; Debian's Apache logs `%O`,
which counts the headers too.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows
from bestbefore.replay.traces.opening import OpenTrace, first_lines, lines
from bestbefore.replay.traces.skipped import Skipped, shortened

_INSIDE = r'[^"\\]*+(?:\\.[^"\\]*+)*+'  # of quotes
# What ends in ++ or *+ is never tried again shorter, so that a bad line costs no more than a good one.
_LINE = re.compile(
    r"(?:([^\s:]++|\[[0-9A-Fa-f:.]++\]):\d++ )?"  # the host of a server with several
    r"(\S++) \S++ [^\[]++"  # the client, its identity, and the user, whose name may hold blanks
    r"\[(\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d):(\d\d) ([+-]\d{4})\] "
    rf'"({_INSIDE})" '  # the request
    r"(\d{3}) (\d{1,18}|-)"
    rf'(?: "{_INSIDE}" "({_INSIDE})")?'
    r"(?: .*)?"
)
_VERSION = re.compile(r"\d(?:\.\d)?")
_MONTHS = {name: number for number, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1)}


def read_combined(source: OpenTrace, skipped: Skipped) -> Accesses:
    """The GET requests of a log. Other requests are left out and counted."""
    rows = AccessRows()
    minutes = _Minutes()
    for number, line in lines(source, skipped):
        text = line.decode(errors="backslashreplace").rstrip("\r")
        match = _LINE.fullmatch(text)
        if match is None:
            if text:
                skipped.add(f"line {number}", f"{shortened(text)!r}: expected a line of an access log")
            continue
        host, client, minute, second, zone, request, status, size, agent = match.groups()
        minute_s = minutes.unix_s(minute, zone)
        if minute_s is None or second > "60":
            skipped.add(f"line {number}", f"time '{minute}:{second} {zone}': expected one since 1970 that exists")
            continue
        target = _target(request)
        if not target:
            skipped.notes["requests left out, not a GET"] += 1
            continue
        rows.append(
            minute_s + int(second),
            client,
            target if host is None else host + target,
            status=int(status),
            size_bytes=UNKNOWN if size == "-" else int(size),
            agent=agent,
        )
    return rows.accesses()


def looks_combined(head: bytes) -> bool:
    """Whether the first line that is one of an access log is combined."""
    match = _first_line(head)
    return match is not None and match[9] is not None


def looks_common(head: bytes) -> bool:
    """Whether the first line that is one of an access log is common."""
    match = _first_line(head)
    return match is not None and match[9] is None


def _first_line(head: bytes) -> re.Match[str] | None:
    return next(filter(None, map(_LINE.fullmatch, first_lines(head))), None)


def _target(request: str) -> str:
    """Return the target of a GET, without the version of HTTP behind it; empty for other requests."""
    if not request.startswith("GET "):
        return ""
    rest = request[len("GET ") :]
    target, _, version = rest.rpartition(" HTTP/")
    return target if target and _VERSION.fullmatch(version) else rest


class _Minutes:
    """Unix seconds of the minutes of a log. The same minute stands on many lines."""

    def __init__(self) -> None:
        self._known: tuple[str, str, float | None] = ("", "", None)

    def unix_s(self, minute: str, zone: str) -> float | None:
        """Return the Unix seconds of `31/Dec/1999:23:59`; None if there is no such minute."""
        if self._known[:2] != (minute, zone):
            self._known = (minute, zone, _unix_s(minute, zone))
        return self._known[2]


def _unix_s(minute: str, zone: str) -> float | None:
    try:
        offset = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[3:]))
        at = datetime(
            int(minute[7:11]), _MONTHS[minute[3:6]], int(minute[:2]), int(minute[12:14]), int(minute[15:17]),
            tzinfo=timezone(offset) if offset else UTC,
        )
    except (ValueError, KeyError):
        return None
    unix_s = at.timestamp()
    return unix_s if unix_s >= 0.0 else None
