"""Clocks, the only readers of time: policy time for decisions, monotonic time for waiting.

Policy time is Unix seconds (UTC). Everything that is stored, compared or sent in a header is policy time; below the
shells it is an argument. It may jump: setting the system clock moves it, and a copy stored
"in the future" must then be held for stale by the engine, never kept for good. Monotonic time never jumps; it is for
the time-outs of sockets and for spacing.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol

from bestbefore.addon.errors import InputError

VARIABLE = "BESTBEFORE_CLOCK"
MAX_FACTOR = 1e6
MAX_START_S = 1e11
"""Far below the year 9999, where dates end, so that a fast clock does not run into it."""

_EXPECTED = (
    "expected START,FACTOR: START is `now`, Unix seconds or an ISO 8601 time in UTC; "
    f"FACTOR is from 1 to {MAX_FACTOR:.0f}"
)


class Clock(Protocol):
    """The interface of a clock."""

    def now(self) -> float:
        """Policy time, Unix seconds."""

    def monotonic(self) -> float:
        """Real seconds since some fixed moment; never goes back, never runs fast."""

    def to_real_s(self, policy_s: float) -> float:
        """Return the real seconds that pass while policy time advances by `policy_s` seconds."""


class RealClock:
    """The system's clock: policy time is real time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def to_real_s(self, policy_s: float) -> float:
        return policy_s


class FastClock:
    """Policy time that begins at `start_s` when the clock is made and then runs `factor` times faster than real time.

    It follows the monotonic clock, so that it never jumps.
    """

    def __init__(self, start_s: float, factor: float, real_monotonic: Callable[[], float] = time.monotonic) -> None:
        """`start_s` in [0, 1e11], `factor` in [1, 1e6]; ValueError for any other."""
        if not 0 <= start_s <= MAX_START_S or not 1 <= factor <= MAX_FACTOR:
            raise ValueError(f"{start_s},{factor}: {_EXPECTED}")
        self.start_s = start_s
        self.factor = factor
        self._real_monotonic = real_monotonic
        self._started_at = real_monotonic()

    def now(self) -> float:
        return self.start_s + self.factor * (self._real_monotonic() - self._started_at)

    def monotonic(self) -> float:
        return self._real_monotonic()

    def to_real_s(self, policy_s: float) -> float:
        return policy_s / self.factor


class ManualClock:
    """Time that stands still until it is moved: for tests, and for a replay through the addon."""

    def __init__(self, now_s: float) -> None:
        self._now_s = now_s
        self._monotonic_s = 0.0

    def now(self) -> float:
        return self._now_s

    def monotonic(self) -> float:
        return self._monotonic_s

    def to_real_s(self, policy_s: float) -> float:
        return policy_s

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError if `seconds` is negative."""
        if not seconds >= 0:
            raise ValueError(f"time cannot advance by {seconds} s")
        self._now_s += seconds
        self._monotonic_s += seconds

    def set(self, now_s: float) -> None:
        """Set policy time as one sets a system clock, forward or back; monotonic time does not notice."""
        self._now_s = now_s


def clock_from_environment(environ: Mapping[str, str]) -> RealClock | FastClock:
    """Return the real clock, or the one that BESTBEFORE_CLOCK=START,FACTOR asks for.

    START is `now`, Unix seconds in [0, 1e11], or an ISO 8601 time (UTC unless it bears an offset); FACTOR is in
    [1, 1e6]. Unset or empty: the real clock. Raises InputError for anything else.

    Policy time starts at START in each process: give a restarted process the time that the last one reached.
    """
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return RealClock()
    start, _, factor = text.rpartition(",")  # the last comma: ISO 8601 allows one before the fraction of a second
    try:
        return FastClock(_start_s(start.strip()), float(factor))
    except (ValueError, OverflowError):
        raise InputError(f"{VARIABLE}={text!r}: {_EXPECTED}") from None


def _start_s(text: str) -> float:
    if text.lower() == "now":
        return time.time()
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
