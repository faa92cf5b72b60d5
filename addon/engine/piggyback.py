"""Update histories that origins add to their responses (`adaptive`, section 1), as structured fields (RFC 9651).

A proxy sends `Want-Update-History: ?1`; the response has `Update-History: 1706227238, 1706230000;since=1706140800`: the
times of the latest updates, newest last, complete from `since` on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import http_sf

from bestbefore.addon.rfc9111.message import Fields

WANT = "Want-Update-History"
UPDATES = "Update-History"
AT_MOST = 64
"""The most updates in one response."""


@dataclass(frozen=True, slots=True)
class ReportedUpdates:
    """The updates of an object that its origin reports."""

    times_s: tuple[float, ...]
    """Ascending."""
    since_s: float
    """From when on the list is complete."""


def is_requested(request_fields: Fields) -> bool:
    """Whether a request asks for the history. A malformed field is ignored."""
    value = request_fields.get(WANT)
    if value is None:
        return False
    try:
        item = http_sf.parse(value.encode("latin-1", "replace"), tltype="item")
    except ValueError:
        return False
    return isinstance(item, tuple) and item[0] is True


def written(times_s: Sequence[float], since_s: float) -> str | None:
    """Return the field's value for these updates (ascending): the latest `AT_MOST`, complete from `since`.

    Times are whole seconds, so two updates within a second become one. None if there is no update, since an empty list
    cannot have the parameter `since` (RFC 9651 3.1).
    """
    if not times_s:
        return None
    seconds = list(dict.fromkeys(map(int, times_s)))
    latest = seconds[-AT_MOST:]
    complete_since = int(since_s) if len(seconds) <= AT_MOST else latest[0]
    return ", ".join(map(str, latest)) + f";since={complete_since}"


def read(response_fields: Fields, now_s: float) -> ReportedUpdates | None:
    """Parse the history in a response; None if there is none or it is malformed.

    Well-formed is a list of at most `AT_MOST` ascending integers in [0, now]; the last has an integer `since` that is
    not later than the first.
    """
    value = response_fields.get(UPDATES)
    if value is None:
        return None
    try:
        members: Any = http_sf.parse(value.encode("latin-1", "replace"), tltype="list")
    except ValueError:
        return None
    if not 1 <= len(members) <= AT_MOST:
        return None
    times = [time_s for time_s, _ in members if _is_time(time_s, now_s)]
    since = members[-1][1].get("since")
    if len(times) != len(members) or times != sorted(set(times)) or not _is_time(since, now_s) or since > times[0]:
        return None
    return ReportedUpdates(tuple(float(t) for t in times), float(since))


def _is_time(value: object, now_s: float) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= now_s
