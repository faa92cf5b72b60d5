"""The detection of clockwork in the times of an object's updates.

For each pattern (a period, a number of beats and their length) the beats are the spans with the most updates in the
first two thirds of the history. The pattern is judged by the last third: by the mean gain in the logarithm of the
density of an update, against the daily pattern by hours that schedules use anyway. So an object that changes at any
time of its office hours has no clockwork, and one that changed regularly once and no longer does has none either.

The best pattern is kept if it gains `LEAST_GAIN`, and its beats are found again from the whole of the recent history.
They end where a contact after each of them leaves the latest updates waiting for the least time.
Of updates in quick succession only the first counts, since a single burst would look like a beat.
"""

import math
from typing import NamedTuple

import numpy as np

from bestbefore.policies.models.clockwork.beats import WEEK_S, ClockBeat, Clockwork
from bestbefore.policies.models.clockwork.folding import apart, fullest_spans, joined, span_of
from bestbefore.policies.models.patterns import hourly_counts
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray

LEAST_UPDATES = 9
"""The least number of updates, bursts counted once."""
MOST_UPDATES = 60
"""The latest updates, by which an object is judged."""
LATEST = 30
"""The latest updates, bursts counted once, by which beats end: their phase may drift."""
LEAST_SPREAD_S = 1.0
LEAST_GAIN = 1.0
"""In nats: the density of updates is e times that of the daily pattern."""
LEAST_HELD = 0.75
"""The least share of the later updates that fall into the beats of the earlier ones."""
SLACK = 0.1
"""How much earlier or later than before an update may be, as a part of the length of a beat."""
UNIFORM = 6.0
"""The updates evenly spread over the day that are added to those of an object in its daily pattern."""


class ClockPattern(NamedTuple):
    """A kind of clockwork that is looked for."""

    period_s: float
    beats: int
    """The largest number of beats in a period."""
    length_s: float
    """The greatest length of a beat."""


PATTERNS = (
    *(ClockPattern(HOUR_S, beats, 300.0) for beats in (1, 2)),
    *(ClockPattern(DAY_S, beats, length_s) for length_s in (300.0, 1800.0, 5400.0) for beats in (1, 2, 4)),
    *(ClockPattern(WEEK_S, beats, length_s) for length_s in (300.0, 1800.0, 5400.0) for beats in (1, 2)),
)


def find_clockwork(times_s: FloatArray) -> Clockwork | None:
    """Return the clockwork of an object that was updated at these ascending times; None if it has none."""
    best, found = LEAST_GAIN, None
    for pattern in PATTERNS:
        once = apart(times_s, pattern.length_s)[-MOST_UPDATES:]
        if once.size < LEAST_UPDATES:
            continue
        gain = _gain(once, pattern)
        if gain >= best:
            best, found = gain, pattern
    return None if found is None else _clockwork(times_s, found)


def _gain(times_s: FloatArray, pattern: ClockPattern) -> float:
    """Return the mean gain of the last third of the times by the beats of the others; 0 if too few fall into them."""
    period_s, slack_s = pattern.period_s, SLACK * pattern.length_s
    known = times_s.size * 2 // 3
    spans = fullest_spans(times_s[:known] % period_s, period_s, pattern.length_s, pattern.beats)
    if not spans:
        return 0.0
    before = span_of(times_s[:known] % period_s, period_s, spans, slack_s)
    after = span_of(times_s[known:] % period_s, period_s, spans, slack_s)
    if np.mean(after >= 0) < LEAST_HELD:
        return 0.0
    lengths_s = np.array([until_s - from_s + 2.0 * slack_s for from_s, until_s in spans])
    shares = (np.bincount(before + 1, minlength=len(spans) + 1) + 0.5) / (known + 0.5 * (len(spans) + 1))
    densities = shares / np.concatenate(([max(period_s - lengths_s.sum(), 1.0)], lengths_s))
    gains = np.log(densities[after + 1]) - np.log(_by_hours(times_s[:known], times_s[known:], period_s))
    return float(np.mean(gains))


def _by_hours(known_s: FloatArray, times_s: FloatArray, period_s: float) -> FloatArray:
    """(n,) the density of updates by the daily pattern at these times, per second of the period."""
    if period_s == HOUR_S:
        return np.full(times_s.size, 1.0 / HOUR_S)
    shares = (hourly_counts(known_s) + UNIFORM / BINS) / (known_s.size + UNIFORM)
    return np.asarray(shares[(times_s % DAY_S // HOUR_S).astype(np.intp)] / HOUR_S * (DAY_S / period_s))


def _clockwork(times_s: FloatArray, pattern: ClockPattern) -> Clockwork | None:
    period_s = pattern.period_s
    once = apart(times_s, pattern.length_s)[-MOST_UPDATES:]
    spans = fullest_spans(once % period_s, period_s, pattern.length_s, pattern.beats)
    spans = joined(spans, period_s, pattern.length_s)  # jitter longer than the pattern's looks like two beats
    recent_s = times_s[times_s >= once[-min(LATEST, once.size)]]
    beats, updates = [], 0
    for k, (from_s, _) in enumerate(spans):
        gap_s = (spans[(k + 1) % len(spans)][0] - from_s) % period_s or period_s
        after_s = (recent_s % period_s - from_s) % period_s
        end_s, number = _best_end(np.sort(after_s[after_s < gap_s]), gap_s)
        if number:
            beats.append(ClockBeat(from_s, from_s + end_s, float(number)))
            updates += number
    if not updates:
        return None
    shares = tuple(beat._replace(share=beat.share / updates) for beat in beats)
    return Clockwork(period_s, shares, (updates + 0.5) / (recent_s.size + 1.0))


def _best_end(after_s: FloatArray, gap_s: float) -> tuple[float, int]:
    """Return the end of a beat and the number of updates until it, from their times after its beginning.

    It is when a contact after each beat, `gap_s` later than the one before, leaves updates waiting for the least time:
    those later than the end wait for the next contact. If that is after the last one seen, an update is still later
    with the probability 1 / (n+1), by as much as in an exponential tail with the spread of those seen.
    """
    n = after_s.size
    if not n:
        return 0.0, 0
    best = int(np.argmin(n * after_s + gap_s * (n - np.arange(1, n + 1))))
    if best < n - 1:
        return float(after_s[best]), best + 1
    spread_s = max(float(np.std(after_s)), LEAST_SPREAD_S)
    return float(after_s[best]) + spread_s * max(math.log(gap_s / ((n + 1) * spread_s)), 0.0), n
