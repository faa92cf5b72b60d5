"""The reader of Squid's native access.log.

A line is `time duration client result/status size method URL user hierarchy/from type`, with Unix seconds and
milliseconds; further fields are ignored. The time is that of the end of the response; the request came a duration
earlier. The size includes the response header, whose length varies, so that sizes are weaker evidence of updates than
in the log of an origin.
"""

from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows
from bestbefore.replay.traces.opening import OpenTrace, first_lines, lines
from bestbefore.replay.traces.skipped import Skipped, shortened

FIELDS = 7
CUT_SHORT = ("ABORTED", "TIMEDOUT", "SWAPFAIL")
"""Results, or parts of them, of responses that may be truncated."""


def read_squid(source: OpenTrace, skipped: Skipped) -> Accesses:
    """Read the GET requests of a log. Other requests are left out and counted."""
    rows = AccessRows()
    for number, line in lines(source, skipped):
        fields = line.decode(errors="backslashreplace").split(None, FIELDS)
        if not fields:
            continue
        try:
            time_s = _start_s(fields)
            result, status, size = _answer(fields)
        except ValueError as error:
            skipped.add(f"line {number}", str(error))
            continue
        if fields[5] != "GET":
            skipped.notes["requests left out, not a GET"] += 1
            continue
        whole = not any(part in result for part in CUT_SHORT)
        rows.append(time_s, fields[2], fields[6], status=status, size_bytes=size if whole else UNKNOWN)
    return rows.accesses()


def looks_like_squid(head: bytes) -> bool:
    """Whether one of the first lines can be parsed."""
    return any(_is_line(line.split(None, FIELDS)) for line in first_lines(head))


def _is_line(fields: list[str]) -> bool:
    try:
        _start_s(fields)
        _answer(fields)
    except ValueError:
        return False
    return True


def _start_s(fields: list[str]) -> float:
    """Return the time of the request. Raises ValueError."""
    if len(fields) < FIELDS:
        raise ValueError(f"{shortened(' '.join(fields))!r}: expected at least {FIELDS} fields")
    try:
        seconds, _, milliseconds = fields[0].partition(".")
        start_s = (int(seconds) * 1000 + int(milliseconds[:3].ljust(3, "0")) - max(int(fields[1]), 0)) / 1000
    except (ValueError, OverflowError):
        start_s = -1.0
    if not 0.0 <= start_s < 1e12:
        given = shortened(f"{fields[0]} {fields[1]}")
        raise ValueError(f"time and duration {given!r}: expected Unix seconds and milliseconds")
    return start_s


def _answer(fields: list[str]) -> tuple[str, int, int]:
    """Return result, status and size. Raises ValueError."""
    result, slash, status = fields[3].partition("/")
    if not slash or not (status.isascii() and status.isdigit() and len(status) == 3):
        raise ValueError(f"result {shortened(fields[3])!r}: expected one such as TCP_MISS/200")
    size = fields[4]
    if not (size.isascii() and size.isdigit() and len(size) < 16):
        raise ValueError(f"size {shortened(size)!r}: expected a whole number of bytes")
    return result, int(status), int(size)
