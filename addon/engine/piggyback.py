"""Update histories that servers add to their responses (`adaptive`, section 1), as structured fields (RFC 9651).

A proxy sends `Want-Update-History: ?1`; the response has `Update-History: 1706227238, 1706230000;since=1706140800`: the
times of the latest updates, newest last. After `since` there was no update but at these times, and in the intervals
that parameters of a member name (docs/newer_http.md):

- `after`: the time is not known: the update, and perhaps further ones, lies after this time, and not after the member.
- `unseen`: there may be further updates after this time, and before that of the member.

The token `none` in place of the members: no update is known.

Of an object with few known updates the response also has `Update-Pattern`, the aggregate history of its group
(`adaptive`, section 3.3.1): the updates of all members in each hour of the day, in the last `days`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import http_sf

from bestbefore.addon.engine.update import TimeSpan, Update
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.policies.models.group import Group
from bestbefore.policies.units import BINS, DAY_S

WANT = "Want-Update-History"
UPDATES = "Update-History"
PATTERN = "Update-Pattern"
RESPONSE_FIELDS = frozenset((UPDATES.lower(), PATTERN.lower()))
AT_MOST = 64
"""The most updates in one response."""
NONE = "none"
_ROUNDING_S = 1.0
"""By how much the end of an interval, in whole seconds, may be later than the contact that ends it."""


PATTERN_DAYS = 28
"""How many days an aggregate history covers at most."""
PATTERN_BELOW = 3
"""With fewer updates of its own, the pattern of its group is sent with an object."""
_MOST_COUNTED = 1_000_000_000


class GroupPattern(NamedTuple):
    """The aggregate history of a group, as an origin sends it."""

    updates: tuple[int, ...]
    """(24,) The updates of all members in each hour of the day, UTC."""
    days: int
    members: int

    def group(self, t_s: float) -> Group:
        """Return a group with these updates in the days before t, spread evenly over them."""
        first = int(t_s // DAY_S) - self.days
        counts = {
            (first + day) * BINS + hour: n * (day + 1) // self.days - n * day // self.days
            for day in range(self.days)
            for hour, n in enumerate(self.updates)
        }
        return Group.of_hours({hour: n for hour, n in counts.items() if n}, {first * BINS: self.members})


@dataclass(frozen=True, slots=True)
class ReportedUpdates:
    """The updates of an object that its origin reports."""

    times_s: tuple[float, ...]
    """Those of known time, ascending."""
    since_s: float
    """From when on there was no update but at these times, in the intervals `within` and in `unseen`."""
    within: tuple[TimeSpan, ...] = ()
    """Intervals with at least one update each."""
    unseen: tuple[TimeSpan, ...] = ()
    """Intervals in which there may have been updates."""
    pattern: GroupPattern | None = None
    """The pattern of the object's group; None if it was not sent."""


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


def written(updates: Sequence[Update], since_s: float, unseen: Sequence[TimeSpan] | None) -> str:
    """Return the field's value for the latest `AT_MOST` of these updates, observed since t_0.

    Times are whole seconds, so updates within a second become one. `unseen`: before which updates of known time further
    ones may have been missed, and from when on; None: it is unknown, so between any two.
    """
    members = _members(updates)
    listed = sorted(members)[-AT_MOST:]
    if not listed:
        return f"{NONE};since={int(since_s)}"
    complete_since = min(int(since_s), listed[0]) if len(members) <= AT_MOST else listed[0]
    missed = {} if unseen is None else {int(by_s): int(after_s) for after_s, by_s in unseen}
    parts, previous = [], complete_since
    for second in listed:
        after, hidden_from = members[second], missed.get(second) if unseen is not None else previous
        if after is not None:
            parts.append(f"{second};after={after}")
        elif hidden_from is not None and hidden_from < second and complete_since < second:
            parts.append(f"{second};unseen={hidden_from}")
        else:
            parts.append(str(second))
        previous = second
    return f"{', '.join(parts)};since={complete_since}"


def _members(updates: Sequence[Update]) -> dict[int, int | None]:
    """Return the member for each update: its second, and after which it lies if its time is not known."""
    members: dict[int, int | None] = {}
    for update in updates:
        if update.exact:
            members[int(update.by_s)] = None
        else:
            members.setdefault(math.ceil(update.by_s), int(update.after_s))
    return members


def read(response_fields: Fields, now_s: float) -> ReportedUpdates | None:
    """Parse the history in a response; None if there is none or it is malformed.

    Well-formed is a list of at most `AT_MOST` ascending integers in [0, now], with earlier integers as `after` and
    `unseen`; or the token `none`. The last has an integer `since` that is not later than the first.
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
    since = members[-1][1].get("since")
    if not _is_time(since, now_s):
        return None
    pattern = _pattern(response_fields.get(PATTERN))
    if len(members) == 1 and isinstance(members[0][0], http_sf.Token) and str(members[0][0]) == NONE:
        return ReportedUpdates((), float(since), pattern=pattern)
    times = [time_s for time_s, _ in members if _is_time(time_s, now_s + _ROUNDING_S)]
    if len(times) != len(members) or times != sorted(set(times)) or since > times[0]:
        return None
    exact, within, unseen = [], [], []
    for time_s, parameters in members:
        after, hidden_from = parameters.get("after"), parameters.get("unseen")
        if any(one is not None and not (_is_time(one, now_s) and one < time_s) for one in (after, hidden_from)):
            return None
        by_s = min(float(time_s), now_s)
        if after is not None:
            within.append(TimeSpan(min(float(after), by_s), by_s))
            continue
        exact.append(by_s)
        if hidden_from is not None:
            unseen.append(TimeSpan(float(hidden_from), by_s))
    return ReportedUpdates(tuple(exact), float(since), tuple(within), tuple(unseen), pattern)


def pattern_written(group: Group, t_s: float) -> str | None:
    """Return the value of Update-Pattern for a group at t; None if it has no updates."""
    if group.since_s is None or len(group.updates) != BINS:
        return None
    days = min(int((t_s - group.since_s) // DAY_S), PATTERN_DAYS)
    counts = group.counts(t_s - days * DAY_S, t_s) if days > 0 else []
    return f"{', '.join(map(str, counts))};days={days};members={group.members(t_s)}" if any(counts) else None


def _pattern(value: str | None) -> GroupPattern | None:
    """Parse an Update-Pattern; None if it is missing or malformed."""
    try:
        members: Any = [] if value is None else http_sf.parse(value.encode("latin-1", "replace"), tltype="list")
    except ValueError:
        return None
    counts = tuple(count for count, _ in members if _is_time(count, _MOST_COUNTED))
    if len(counts) != len(members) or len(counts) != BINS:
        return None
    days, n = members[-1][1].get("days"), members[-1][1].get("members")
    if not (_is_time(days, PATTERN_DAYS) and _is_time(n, _MOST_COUNTED) and days and n):
        return None
    return GroupPattern(counts, days, n)


def _is_time(value: object, now_s: float) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= now_s
