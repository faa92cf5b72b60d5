"""Times of the week, such as `Mon-Fri 08:00-18:00`, and when the closed ones of them end. Pure: time is an argument."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Self

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MIN = 24 * 60
WEEK_MIN = 7 * DAY_MIN

type Stretch = tuple[int, int]
"""From one minute of the week (0: Monday 00:00) until before another."""

_DAY = "|".join(DAYS)
_CLOCK = r"([0-9]{1,2}):([0-9]{2})"
_TIMES = re.compile(rf"(?:({_DAY})(?:-({_DAY}))?)?(?:(?:^| ){_CLOCK}-{_CLOCK})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class WeekTimes:
    """Times of the week.

    Grammar: DAY[-DAY] [HH:MM-HH:MM] | HH:MM-HH:MM. Days are English, of three letters, in any case; without a day
    every day is meant, without a time the whole day. A time that ends before it begins ends on the next day.
    """

    text: str
    """As written, in lower case."""
    stretches: tuple[Stretch, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, which says what was expected, for what the grammar does not allow."""
        lower = " ".join(text.lower().split())
        found = _TIMES.fullmatch(lower)
        if found is None or not lower:
            raise ValueError('expected times such as "22:00-06:00", "Sat-Sun" or "Mon-Fri 08:00-18:00"')
        first, last, *clock = found.groups()
        start_min, end_min = (0, DAY_MIN) if clock[0] is None else (_minute(*clock[:2]), _minute(*clock[2:]))
        if start_min == end_min:
            raise ValueError("expected an end other than the beginning")
        length_min = (end_min - start_min) % DAY_MIN or DAY_MIN
        begins = [DAY_MIN * day + start_min for day in _days(first, last)]
        return cls(lower, tuple((begin, begin + length_min) for begin in begins))

    def __str__(self) -> str:
        return self.text


def _minute(hour: str, minute: str) -> int:
    if int(minute) > 59 or int(hour) * 60 + int(minute) > DAY_MIN:
        raise ValueError(f"{hour}:{minute} is no time of a day, expected 00:00 to 24:00")
    return int(hour) * 60 + int(minute)


def _days(first: str | None, last: str | None) -> Iterator[int]:
    if first is None:
        return iter(range(7))
    start = DAYS.index(first)
    count = 1 if last is None else (DAYS.index(last) - start) % 7 + 1
    return ((start + n) % 7 for n in range(count))


@lru_cache(maxsize=1024)
def closed_stretches(quiet: tuple[WeekTimes, ...], only: tuple[WeekTimes, ...]) -> tuple[Stretch, ...]:
    """Return the times in `quiet`, and those that are not in `only` unless that is empty: disjoint and in order."""
    allowed = _merged(only)
    outside = [(end, start) for (_, end), (start, _) in zip([(0, 0), *allowed], [*allowed, (WEEK_MIN, 0)], strict=True)]
    closed = [stretch for stretch in outside if stretch[0] < stretch[1]] if only else []
    return tuple(_joined([*closed, *_merged(quiet)]))


def _merged(times: tuple[WeekTimes, ...]) -> list[Stretch]:
    """Return all stretches within one week, from Monday to Sunday."""
    stretches = [stretch for part in times for stretch in part.stretches]
    first = [(start, min(end, WEEK_MIN)) for start, end in stretches]
    rest = [(0, end - WEEK_MIN) for _, end in stretches if end > WEEK_MIN]
    return _joined(first + rest)


def _joined(stretches: list[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def is_never_open(closed: tuple[Stretch, ...]) -> bool:
    """Whether the whole week is closed."""
    return closed == ((0, WEEK_MIN),)


def opens_s(closed: tuple[Stretch, ...], zone: tzinfo, now_s: float) -> float:
    """Return the first moment from `now_s` on that is not closed; infinite if there is none."""
    if is_never_open(closed):
        return float("inf")
    for _ in range(2 * len(closed) + 1):  # a stretch may end where the next week begins with another
        local = datetime.fromtimestamp(now_s, zone)
        minute = local.weekday() * DAY_MIN + local.hour * 60 + local.minute
        left_min = next((end - minute for start, end in closed if start <= minute < end), 0)
        if not left_min:
            return now_s
        wall = local.replace(second=0, microsecond=0) + timedelta(minutes=left_min)
        # Where the clock is set back a wall time occurs twice: of the two that which follows.
        now_s = max(wall.replace(fold=local.fold).timestamp(), now_s + 1.0)
    return now_s
