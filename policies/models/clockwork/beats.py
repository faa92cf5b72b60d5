"""The beats of an object: the short spans of each hour, day or week in which it changes.

Wolf et al., "Optimal crawling strategies for web search engines", section 2.1, call such updates quasi-deterministic:
they happen at known moments, each with some probability. Periods begin with the Unix epoch, so that hours and days are
those of UTC, and weeks begin on Thursday.
"""

from typing import NamedTuple

from bestbefore.policies.units import DAY_S, HOUR_S

WEEK_S = 7.0 * DAY_S
PUBLISHED_S = 5.0
"""The time from the end of a beat to a contact: an answer is published a little after it was modified."""


class ClockBeat(NamedTuple):
    """A span of the period."""

    from_s: float
    """The beginning, from 0 to less than the period."""
    until_s: float
    """The end. It is beyond the period if the span contains the beginning of the next one."""
    share: float
    """The share of the updates of all beats."""


class Clockwork(NamedTuple):
    """When an object changes."""

    period_s: float
    """An hour, a day or a week."""
    beats: tuple[ClockBeat, ...]
    """Apart from each other, by their beginnings."""
    share: float
    """The share of all updates that fall into the beats."""


def is_valid(clockwork: Clockwork) -> bool:
    """Whether the numbers are such as the detection finds; for what was stored."""
    starts_s = [beat.from_s for beat in clockwork.beats]
    return (
        clockwork.period_s in (HOUR_S, DAY_S, WEEK_S)
        and 0.0 <= clockwork.share <= 1.0
        and bool(starts_s)
        and starts_s == sorted(starts_s)
        and all(0.0 <= beat.from_s < clockwork.period_s for beat in clockwork.beats)
        and all(0.0 <= beat.until_s - beat.from_s <= clockwork.period_s for beat in clockwork.beats)
        and all(0.0 <= beat.share <= 1.0 for beat in clockwork.beats)
    )


def shifted(clockwork: Clockwork, by_s: float) -> Clockwork:
    """Return the same beats so much later."""
    starts_s = [(beat.from_s + by_s) % clockwork.period_s for beat in clockwork.beats]
    moved = (
        ClockBeat(from_s, from_s + beat.until_s - beat.from_s, beat.share)
        for from_s, beat in zip(starts_s, clockwork.beats, strict=True)
    )
    return clockwork._replace(beats=tuple(sorted(moved)))


class Moment(NamedTuple):
    """A moment at which a beat has just ended."""

    at_s: float
    beat: ClockBeat


def moments(clockwork: Clockwork, after_s: float, number: int) -> list[Moment]:
    """Return the next ends of beats after `after_s`, each with `PUBLISHED_S`, ascending."""
    period_s = clockwork.period_s
    first = after_s // period_s - 1.0
    found = [
        Moment((first + k) * period_s + beat.until_s + PUBLISHED_S, beat)
        for k in range(number // len(clockwork.beats) + 3)
        for beat in clockwork.beats
    ]
    return sorted(moment for moment in found if moment.at_s > after_s)[:number]


def last_moment_s(clockwork: Clockwork, until_s: float) -> float:
    """Return the last end of a beat, with `PUBLISHED_S`, that is not after `until_s`."""
    ends_s = (beat.until_s + PUBLISHED_S for beat in clockwork.beats)
    return until_s - min((until_s - end_s) % clockwork.period_s for end_s in ends_s)


def described(clockwork: Clockwork) -> str:
    """Return the moments as text: `daily at about 09:05 and 21:05 UTC`."""
    middles = [(0.5 * (beat.from_s + beat.until_s)) % clockwork.period_s for beat in clockwork.beats]
    if clockwork.period_s == HOUR_S:
        return "hourly at about minute " + " and ".join(f"{s // 60.0:.0f}" for s in sorted(middles))
    times = " and ".join(
        f"{_DAYS[int(s // DAY_S)] + ' ' if clockwork.period_s == WEEK_S else ''}{_clock(s % DAY_S)}"
        for s in sorted(middles)
    )
    return f"{'weekly' if clockwork.period_s == WEEK_S else 'daily'} at about {times} UTC"


_DAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")


def _clock(second_of_day: float) -> str:
    minutes = int(second_of_day // 60.0)
    return f"{minutes // 60:02}:{minutes % 60:02}"
