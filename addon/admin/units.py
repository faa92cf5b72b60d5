"""Formats times, durations and sizes for log lines, summaries and `show`."""

import time

FAR_S = 1e12
"""Times from this one on (the year 33658) are not printed as dates; a policy that returns "never" may give one."""

_SPANS = ((120.0, 1.0, "s"), (7200.0, 60.0, "m"), (172_800.0, 3600.0, "h"), (float("inf"), 86_400.0, "d"))
_SIZES = ((1e6, 1e3, "kB"), (1e9, 1e6, "MB"), (1e12, 1e9, "GB"), (float("inf"), 1e12, "TB"))


def utc(time_s: float) -> str:
    """Format a time (Unix seconds), to the second, in UTC.

    >>> utc(1706227238.9)
    '2024-01-26 00:00:38Z'
    """
    if time_s >= FAR_S:
        return "in the far future"
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(time_s))


def span(seconds: float) -> str:
    """Format a duration with two or three digits, in at most six characters up to 99,999 days.

    >>> span(0.00042), span(0.25), span(0), span(1.5), span(90), span(600), span(-18_720), span(864_000)
    ('0.4ms', '250ms', '0s', '1.5s', '90s', '10m', '-5.2h', '10d')
    """
    if seconds < 0:
        return "-" + span(-seconds)
    if 0 < seconds < 0.9995:
        return _digits(seconds * 1e3) + "ms"
    for limit, unit_s, unit in _SPANS:
        if seconds < limit:
            return _digits(seconds / unit_s) + unit
    return "forever"


def ahead(time_s: float, now_s: float) -> str:
    """Say when something is due; what is overdue waits for its turn.

    >>> ahead(190.0, 100.0), ahead(100.0, 190.0)
    ('in 90s', 'waits for its turn, since 90s')
    """
    return f"in {span(time_s - now_s)}" if time_s > now_s else f"waits for its turn, since {span(now_s - time_s)}"


def size(n_bytes: float) -> str:
    """Format a number of bytes with two or three digits and powers of 1000.

    >>> size(999), size(1234), size(8_388_608), size(-5e9)
    ('999B', '1.2kB', '8.4MB', '-5GB')
    """
    if n_bytes < 0:
        return "-" + size(-n_bytes)
    if n_bytes < 1000:
        return f"{n_bytes:.0f}B"
    for limit, unit_bytes, unit in _SIZES:
        if n_bytes < limit * 0.9995:
            return _digits(n_bytes / unit_bytes) + unit
    return f"{n_bytes}B"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 update` or `2,000 updates`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _digits(value: float) -> str:
    """Format a value with one decimal below 10, unless that is 0; without from 10 on."""
    return f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"
