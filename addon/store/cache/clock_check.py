"""The check whether policy time is steady, so that the age of unused objects can be trusted."""

from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.policies.units import DAY_S

SLACK_S = 2 * DAY_S
"""The tolerated difference between the advance of policy time and of real time between two checks: the clock may be
adjusted, the machine suspended, or the proxy stopped."""
TRUSTED_AFTER_S = 7 * DAY_S
"""How long policy time must have run without a jump before objects count as old by it."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """The state of the clock at one check, in policy time; kept in the store."""

    checked_at_s: float
    """The time of the check."""
    steady_since_s: float
    """Since when the clock has not jumped."""


class ClockCheck:
    """Compares policy time with real time between checks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._monotonic_s = clock.monotonic()
        self._state = ClockState(clock.now(), clock.now())

    def check(self, kept: ClockState | None) -> ClockState:
        """Check the clock; `kept` is the state in the store, written by this process or another.

        A jump, in this process or since the state in the store, restarts the steady time: only further steady time
        shows that the clock is right now.
        """
        now_s, monotonic_s = self._clock.now(), self._clock.monotonic()
        elapsed_s, real_s = now_s - self._state.checked_at_s, monotonic_s - self._monotonic_s
        jumped = elapsed_s < -SLACK_S or self._clock.to_real_s(elapsed_s - SLACK_S) > real_s
        steady_s = now_s if jumped else self._state.steady_since_s
        if kept is not None and kept.checked_at_s > now_s + SLACK_S:
            steady_s = now_s
        elif kept is not None and kept.checked_at_s >= steady_s - SLACK_S:
            steady_s = min(steady_s, kept.steady_since_s)
        self._monotonic_s, self._state = monotonic_s, ClockState(now_s, steady_s)
        return self._state

    def is_trusted(self) -> bool:
        """Whether policy time has run for `TRUSTED_AFTER_S` without a jump, by the last check."""
        return self._state.checked_at_s - self._state.steady_since_s >= TRUSTED_AFTER_S
