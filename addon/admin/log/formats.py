r"""The formats of the request log for programs: JSON lines, combined, Squid's native format, and templates.

A line is printable ASCII in each. In quotes, `"` and `\` are escaped as `\x22` and `\x5c`, as nginx does.
"""

import json
import time
from collections.abc import Callable, Mapping
from functools import lru_cache

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.sanitize import logged_url, plain_text, plain_word
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.log_template import LogTemplate

type LogFormat = Callable[[Answered], str]
"""Returns the line of a request, without newline; empty if the request is not logged."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SQUID_RESULTS = {
    Outcome.HIT: "TCP_HIT",
    Outcome.VALIDATED: "TCP_REFRESH_UNMODIFIED",
    Outcome.UPDATED: "TCP_REFRESH_MODIFIED",
    Outcome.REFETCHED: "TCP_REFRESH_MODIFIED",
    Outcome.PASSED_ON: "TCP_REFRESH_MODIFIED",
    Outcome.MISS: "TCP_MISS",
    Outcome.BYPASS: "TCP_MISS",
    Outcome.STALE: "TCP_STALE_HIT",
    Outcome.REFUSED: "TCP_DENIED",
}
_VALUE_LIMIT = 1000
"""Longer values of fields that clients choose are cut to this many characters."""


def log_format(name: str, *, keep_query: bool) -> LogFormat:
    """Return the format with this name (but `line`), or of this template. `keep_query`: URLs have their query."""
    if name == "json":
        encode = json.JSONEncoder(separators=(",", ":")).encode
        return lambda answered: encode({field: value(answered, keep_query) for field, value in _VALUES.items()})
    if name == "combined":
        return lambda answered: _combined(answered, keep_query=keep_query)
    if name == "squid":
        return lambda answered: _squid(answered, keep_query=keep_query)
    template = LogTemplate.parse(name)
    named = {field: _VALUES[field] for _, field in template.parts if field is not None}
    return lambda answered: template.filled(
        {field: _in_text(value(answered, keep_query)) for field, value in named.items()}
    )


_VALUES: Mapping[str, Callable[[Answered, bool], object]] = {
    "time": lambda one, _: _iso(one.time_s),
    "unix_time": lambda one, _: round(one.time_s, 3),
    "client": lambda one, _: one.client,
    "user": lambda one, _: one.user[:_VALUE_LIMIT],
    "method": lambda one, _: one.method[:_VALUE_LIMIT],
    "url": lambda one, keep_query: logged_url(one.url, keep_query=keep_query),
    "protocol": lambda one, _: one.protocol[:_VALUE_LIMIT],
    "status": lambda one, _: one.status,
    "verdict": lambda one, _: str(one.outcome),
    "reason": lambda one, _: one.reason,
    "ttl_s": lambda one, _: None if one.ttl_s is None else round(one.ttl_s, 3),
    "took_s": lambda one, _: round(one.duration_s, 6),
    "sent_bytes": lambda one, _: one.sent_bytes,
    "received_bytes": lambda one, _: one.received_bytes,
    "uploaded_bytes": lambda one, _: one.uploaded_bytes,
    "stored": lambda one, _: one.stored,
    "complete": lambda one, _: one.complete,
    "background": lambda one, _: one.background,
    "agent": lambda one, _: one.agent[:_VALUE_LIMIT],
    "referer": lambda one, keep_query: _referer(one, keep_query=keep_query),
    "because": lambda one, keep_query: one.because and logged_url(one.because, keep_query=keep_query),
}
"""How each field of `FIELDS` is taken from a request. The flag: whether URLs have their query."""


def _combined(answered: Answered, *, keep_query: bool) -> str:
    if answered.background:  # there is no client
        return ""
    at = time.gmtime(answered.time_s)
    when = f"{at.tm_mday:02}/{_MONTHS[at.tm_mon - 1]}/{at.tm_year}:{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} +0000"
    url = logged_url(answered.url, keep_query=keep_query)
    request = f"{plain_word(answered.method[:_VALUE_LIMIT])} {url} {plain_word(answered.protocol[:_VALUE_LIMIT])}"
    agent, referer = answered.agent[:_VALUE_LIMIT] or "-", _referer(answered, keep_query=keep_query) or "-"
    return (
        f'{answered.client or "-"} - {_escaped(_user(answered))} [{when}] "{_escaped(request)}" '
        f'{answered.status or 499:03} {answered.sent_bytes} "{_escaped(referer)}" "{_escaped(agent)}"'
    )


def _squid(answered: Answered, *, keep_query: bool) -> str:
    if answered.background:
        return ""
    result = "TCP_TUNNEL" if answered.method == "CONNECT" else _SQUID_RESULTS[answered.outcome]
    aborted = "" if answered.complete else "_ABORTED"
    from_ = "HIER_DIRECT/-" if answered.contact else "HIER_NONE/-"
    return (
        f"{answered.time_s + answered.duration_s:.3f} {answered.duration_s * 1e3:6.0f} {answered.client or '-'} "
        f"{result}{aborted}/{answered.status:03} {answered.sent_bytes} {plain_word(answered.method[:_VALUE_LIMIT])} "
        f"{logged_url(answered.url, keep_query=keep_query)} {_user(answered)} {from_} -"
    )


def _user(answered: Answered) -> str:
    """Return the proxy user as one word, without the bracket with which the time begins in `combined`."""
    return plain_word(answered.user[:_VALUE_LIMIT]).replace("[", "%5B") or "-"


def _referer(answered: Answered, *, keep_query: bool) -> str:
    return answered.referer and logged_url(answered.referer, keep_query=keep_query)


def _iso(time_s: float) -> str:
    seconds, milliseconds = divmod(round(time_s * 1e3), 1000)
    return f"{_iso_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=4)  # many requests share a second
def _iso_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _in_text(value: object) -> str:
    if value is None or value == "":
        return "-"
    return ("yes" if value else "no") if isinstance(value, bool) else _escaped(str(value))


def _escaped(text: str) -> str:
    return plain_text(text.replace("\\", "\\x5c").replace('"', "\\x22"))
