"""The check whether policy time is steady, so that it can tell how long an object was not used."""

from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.policies.units import DAY_S

SLACK_S = 2 * DAY_S
"""Between two looks policy time may advance so much more than real time, or be set back: an adjusted clock, a machine
that was suspended, a proxy that did not run."""
TRUSTED_AFTER_S = 7 * DAY_S
"""For so long policy time must have run without a leap until what is old by it is believed to be old."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The state of the clock at one look, in policy time; also kept in the store."""

    looked_s: float
    """When it was."""
    steady_s: float
    """Since when there was no leap."""


class Steadiness:
    """Compares policy time with real time, look by look."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._monotonic_s = clock.monotonic()
        self._looked = Looked(clock.now(), clock.now())

    def look(self, kept: Looked | None) -> Looked:
        """Look at the clock; `kept` is the state in the store, of this process or another.

        A leap, in this process or since what the store remembers, restarts the steady time: that the clock
        is right now is then shown by nothing but that it stays so.
        """
        now_s, monotonic_s = self._clock.now(), self._clock.monotonic()
        gained_s, real_s = now_s - self._looked.looked_s, monotonic_s - self._monotonic_s
        leapt = gained_s < -SLACK_S or self._clock.to_real_s(gained_s - SLACK_S) > real_s
        steady_s = now_s if leapt else self._looked.steady_s
        if kept is not None and kept.looked_s > now_s + SLACK_S:
            steady_s = now_s
        elif kept is not None and kept.looked_s >= steady_s - SLACK_S:
            steady_s = min(steady_s, kept.steady_s)
        self._monotonic_s, self._looked = monotonic_s, Looked(now_s, steady_s)
        return self._looked

    def is_trusted(self) -> bool:
        """Whether policy time has run for long without a leap, as far as was looked."""
        return self._looked.looked_s - self._looked.steady_s >= TRUSTED_AFTER_S
