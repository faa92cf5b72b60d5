"""The reader of access logs of Apache, nginx and others: common or combined, with or without leading `host:port`.

A line is `client ident user [day/month/year:time zone] "request" status size`; the combined form adds `"referer"
"user agent"`, and further fields are ignored. The object is the request target as logged, prefixed with the host if the
line begins with one. The size is that of the body in nginx and in Apache's `%b`; Debian's Apache logs `%O`, which
includes the headers.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows
from bestbefore.replay.traces.opening import OpenTrace, first_lines, lines
from bestbefore.replay.traces.skipped import Skipped, shortened

_INSIDE = r'[^"\\]*+(?:\\.[^"\\]*+)*+'  # of quotes
# Possessive quantifiers (++ and *+) avoid backtracking, so that a bad line costs no more than a good one.
_LINE = re.compile(
    r"(?:([^\s:]++|\[[0-9A-Fa-f:.]++\]):\d++ )?"  # the virtual host
    r"(\S++) \S++ [^\[]++"  # the client, its identity, and the user, whose name may contain spaces
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
    """Read the GET requests of a log. Other requests are left out and counted."""
    rows = AccessRows()
    for number, line in lines(source, skipped):
        text = line.decode(errors="backslashreplace").rstrip("\r")
        match = _LINE.fullmatch(text)
        if match is None:
            if text:
                skipped.add(f"line {number}", f"{shortened(text)!r}: expected a line of an access log")
            continue
        host, client, minute, second, zone, request, status, size, agent = match.groups()
        minute_s = _unix_s(minute, zone)
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
    """Whether the first line that can be parsed is in the combined form."""
    match = _first_line(head)
    return match is not None and match[9] is not None


def looks_common(head: bytes) -> bool:
    """Whether the first line that can be parsed is in the common form."""
    match = _first_line(head)
    return match is not None and match[9] is None


def _first_line(head: bytes) -> re.Match[str] | None:
    return next(filter(None, map(_LINE.fullmatch, first_lines(head))), None)


def _target(request: str) -> str:
    """Return the target of a GET request, without the HTTP version; empty for other requests."""
    if not request.startswith("GET "):
        return ""
    rest = request[len("GET ") :]
    target, _, version = rest.rpartition(" HTTP/")
    return target if target and _VERSION.fullmatch(version) else rest


@lru_cache(maxsize=1)  # many lines share a minute
def _unix_s(minute: str, zone: str) -> float | None:
    """Return the Unix seconds of a minute such as `31/Dec/1999:23:59`; None if it does not exist."""
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
