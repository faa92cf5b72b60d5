"""The reader of mailboxes in mbox form, whose messages are the updates of one object, the mailbox.

The time of a message is its Date header; a Date without an offset is read as UTC. The date of the separator line (From,
sender, date) is used instead if there is no readable Date, and if Date lies more than a month before it or a day after
it, as with a wrong clock of the sender. Messages with a repeated Message-ID are left out.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import numpy as np

from bestbefore.policies.units import DAY_S
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.opening import OpenTrace, lines
from bestbefore.replay.traces.skipped import Skipped, shortened

EARLIEST_S, LATEST_S = -31 * DAY_S, DAY_S
"""The range of a credible Date relative to the delivery time of the separator line."""
_SEPARATOR = re.compile(
    rb"From (?P<sender>.*?) +(?P<date>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +"
    rb"(?:[A-Z][a-z][a-z] +\d\d?|\d\d? +[A-Z][a-z][a-z]) .*\d{2}:\d{2}.*)"
)
_HEADER = re.compile(rb"(date|message-id)[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)
_ENDINGS = (".gz", ".mbox", ".mbx", ".txt")


@dataclass(slots=True)
class _Message:
    number: int
    """The number of its first line."""
    sender: bytes
    delivered: bytes
    date: bytes = b""
    id: bytes = b""


def read_mbox(source: OpenTrace, skipped: Skipped) -> Updates:
    """Read the messages of a mailbox as updates of one object, named like the file without its extensions."""
    name = source.path.name
    while name.endswith(_ENDINGS):
        name = name.rpartition(".")[0]
    seen: set[bytes] = set()
    times = array("d")
    for message in _messages(source, skipped):
        if message.id and message.id in seen:
            skipped.notes["messages left out, their Message-ID seen before"] += 1
            continue
        time_s = _time(message, skipped)
        if time_s is None:
            given = shortened((message.date or message.delivered).decode(errors="backslashreplace"))
            skipped.add(f"line {message.number}", f"date {given!r}: expected one of a message since 1970")
            continue
        seen.add(message.id)
        times.append(time_s)
    return Updates.of(np.array(times), np.zeros(len(times), dtype=np.int32), (name,))


def looks_like_mbox(head: bytes) -> bool:
    """Whether the first line is a separator line."""
    return _SEPARATOR.match(head.split(b"\n", 1)[0]) is not None


def _messages(source: OpenTrace, skipped: Skipped) -> Iterator[_Message]:
    message: _Message | None = None
    field, in_header, after_blank = b"", False, True
    for number, line in lines(source, skipped):
        text = line.rstrip(b"\r")
        match = _SEPARATOR.match(text) if after_blank and text.startswith(b"From ") else None
        if match is not None:
            if message is not None:
                yield _with(message, field)
            message, field, in_header = _Message(number, match["sender"], match["date"]), b"", True
        elif in_header and message is not None:
            if text[:1] in (b" ", b"\t"):
                field += b" " + text.strip()
            else:
                message, field = _with(message, field), text
                in_header = bool(text)
        after_blank = not text
    if message is not None:
        yield _with(message, field)


def _with(message: _Message, field: bytes) -> _Message:
    """Add an unfolded header line to the message."""
    match = _HEADER.fullmatch(field)
    if match is not None:
        value = match[2].strip()
        if match[1].lower() == b"date":
            message.date = message.date or value
        else:
            message.id = message.id or value
    return message


def _time(message: _Message, skipped: Skipped) -> float | None:
    sent_s, zoned = _unix_s(message.date)
    delivered_s, _ = _unix_s(message.delivered)
    # Thunderbird writes "-" for the sender, and the time at which it fetched the message.
    credible = sent_s is not None and (
        delivered_s is None or message.sender == b"-" or EARLIEST_S <= sent_s - delivered_s <= LATEST_S
    )
    if not credible and delivered_s is not None:
        skipped.notes["messages without a credible Date, dated by the line that begins them"] += 1
        return delivered_s
    if sent_s is not None and not zoned:
        skipped.notes["dates without a time zone, read as UTC"] += 1
    return sent_s


def _unix_s(text: bytes) -> tuple[float | None, bool]:
    """Return the Unix seconds of a date, None if it is not one since 1970, and whether it has a time zone."""
    try:
        at = parsedate_to_datetime(text.decode("latin-1"))
        unix_s = at.replace(tzinfo=at.tzinfo or UTC).timestamp()
    except (ValueError, IndexError, TypeError, OverflowError):
        return None, False
    return (unix_s, at.tzinfo is not None) if unix_s >= 0.0 else (None, False)
